package keyfold.spark.questions

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.connector.catalog.Column

/** Driver side: Python's description of a table at one schema and one snapshot; `handle` is Python's own. */
final case class Description(json: JsonNode) {
  val name: String = json.get("name").asText
  val id: String = json.path("id").asText
  val version: String = json.path("version").asText
  val handle: JsonNode = json.get("handle")
  val primaryKey: Seq[String] = Json.strings(json.get("primary_key"))
  val partitioning: Seq[String] = Json.strings(json.get("partitioning"))
  val properties: Map[String, String] = Json.texts(json.get("properties"))
  /** Why the table can't be written here; None where it can. */
  val unwritable: Option[String] = Json.optional(json, "unwritable")
  val buckets: Int = json.path("bucketing").path("buckets").asInt(1)
  val leavesOthers: Boolean = json.path("leaves_others").asBoolean(false)

  /** Whether a row is written in the same way if it replaces another and if it is new. */
  val storesAlike: Boolean = json.path("stores_alike").asBoolean(false)

  /** Whether a DELETE of whole partitions may take their files, as no later row is compared with those it removes. */
  val deletesPartitions: Boolean = json.path("deletes_partitions").asBoolean(false)

  /** The view that a name with a `$` gives of its table: "metadata" or "read-optimized"; None for the table. */
  val view: Option[String] = Json.optional(json, "view")
  val metadata: String = json.path("metadata").asText
  val bucketKeys: Seq[String] = Json.strings(json.path("bucketing").get("keys"))
  val placing: Seq[String] = bucketKeys ++ partitioning // the columns that decide where a row is
  val clustering: Seq[String] = Json.strings(json.path("bucketing").path("clustering")) // and those that decide its task

  /** The columns of a key that may be NULL, by the metadata columns with their stored values, which name the rows that
    * a statement changes: Spark takes no NULL in a row's id.
    */
  val storedKeys: Map[String, String] = Json.texts(json.get("stored_keys"))

  /** The sequence fields by the metadata columns with their stored values, which a DELETE or UPDATE brings along. */
  val storedSequences: Map[String, String] = Json.texts(json.get("stored_sequences"))
  val storedColumns: Map[String, String] = storedKeys ++ storedSequences

  lazy val pushdown: Pushdown = Pushdown.fromJson(json.path("pushdown"))
  lazy val order: KeyOrder = KeyOrder.of(json.path("pushdown"), partitioning)
  lazy val columns: Array[Column] = Json.items(json.get("columns")).map(Columns.fromJson).toArray
  lazy val hasNullableKey: Boolean = columns.exists(column => column.nullable && primaryKey.contains(column.name))
  lazy val metadataColumns: Array[Column] = Json.items(json.path("metadata_columns")).map(Columns.fromJson).toArray
}
