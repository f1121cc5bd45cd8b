package keyfold.spark.functions

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldException, Settings}
import keyfold.spark.processes.Driver
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types.DataType

/** Driver side: the aggregates that queries may call, keyfold's own and the session's; Python knows them. */
object Aggregates {
  private var asked: Option[(Map[String, Any], Map[String, KnownAggregate])] = None

  /** The aggregates by their names and aliases, in lower case. Python is asked once for the functions of a session. */
  def byName: Map[String, KnownAggregate] = {
    val code = Settings.functions
    val held = synchronized(asked.filter(_._1 == code).map(_._2))
    held.getOrElse {
      val known = Json.items(ask("aggregate_functions").get("functions")).map(new KnownAggregate(_))
      val named = known.flatMap(function => function.names.map(_ -> function)).toMap
      synchronized { asked = Some(code -> named) }
      named
    }
  }

  def find(name: String): Option[KnownAggregate] = byName.get(name.toLowerCase(java.util.Locale.ROOT))

  /** Whether a name is that of an aggregate over bitmaps, sketches or quantile states. */
  def isOfSets(name: String): Boolean = find(name).exists(_.isOfSets)

  /** An aggregate for columns of these types. Constants are text, None for NULL. */
  def bind(name: String, columns: Seq[DataType], positional: Seq[Option[String]] = Nil,
      options: Map[String, Option[String]] = Map.empty): BoundAggregate =
    new BoundAggregate(ask("bind_aggregate", "name" -> name, "types" -> columns.map(_.json),
      "positional" -> positional, "options" -> options))

  /** Asks about functions, those of the session among them. */
  def ask(question: String, fields: (String, Any)*): JsonNode =
    try Driver.ask(Json.obj(Seq("question" -> question, "code" -> Settings.functions) ++ fields: _*))
    catch { case failure: KeyfoldException => throw Refusal.of(failure) }
}

/** Driver side: an aggregate before its column is known. */
final class KnownAggregate(json: JsonNode) {
  val name: String = json.get("name").asText
  val names: Seq[String] = Json.strings(json.get("names"))
  val hasOptions: Boolean = json.path("has_options").asBoolean
  /** Whether all its arguments are columns, of bitmaps, sketches or quantile states. */
  val isOfSets: Boolean = json.path("is_of_sets").asBoolean

  /** The lines that DESCRIBE FUNCTION prints. */
  val lines: Seq[String] = Json.strings(json.get("lines"))
}

/** Driver side: an aggregate of columns of some types; `fold` is what workers are told of it, `empty` the SQL of
  * its value over no rows if that is not NULL.
  */
final class BoundAggregate(json: JsonNode) {
  val fold: String = Json.text(json.get("fold"))
  val result: DataType = DataType.fromJson(json.get("result").asText)
  val arguments: Seq[DataType] = Json.strings(json.get("arguments")).map(DataType.fromJson)
  val empty: Option[String] = Json.optional(json, "empty")
  /** Whether a fold of what scans have folded is that of all rows. */
  val inScans: Boolean = json.path("in_scans").asBoolean
}
