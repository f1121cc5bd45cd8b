package keyfold.spark.questions

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.connector.catalog.Column
import org.apache.spark.sql.types.Metadata

/** Driver side: a column of aggregate states, as its metadata says: to everybody else it is BINARY. */
final case class StateColumn(signature: String, declared: String, required: Seq[Boolean])

object StateColumn {
  /** The key of the signature in the metadata of any attribute of states. */
  val Key = "keyfold.agg-state"
  private val Column = "keyfold.agg-state.column"

  /** The metadata of a column, by Python's description of its states. */
  def metadata(state: JsonNode): String =
    Json.text(Json.obj(Key -> state.path("signature").asText, Column -> Json.text(state)))

  def of(column: Column): Option[StateColumn] = Option(column.metadataInJSON).map(Metadata.fromJson)
    .filter(_.contains(Column)).map { metadata =>
      val state = Json.parse(metadata.getString(Column))
      StateColumn(state.path("signature").asText, state.path("declared").asText,
        Json.items(state.get("required")).map(_.asBoolean))
    }
}
