package keyfold.spark.questions

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import keyfold.spark.Json
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.connector.catalog.{Column, ColumnDefaultValue}
import org.apache.spark.sql.keyfold.SqlTypes
import org.apache.spark.sql.types.DataType

/** Driver side: table columns, Spark's form and the wire's. */
object Columns {
  def toJson(column: Column): ObjectNode = {
    val declared = SqlTypes.raw(column.dataType, column.metadataInJSON)
    withDefault(typed(column.name, declared, column.nullable, "comment" -> column.comment), column.defaultValue)
  }

  /** Name, type as Spark's JSON and as SQL text, nullability, and more. */
  def typed(name: String, dataType: DataType, nullable: Boolean, more: (String, Any)*): ObjectNode = Json.obj(Seq(
    "name" -> name, "type" -> Json.parse(dataType.json), "sql" -> dataType.sql, "nullable" -> nullable) ++ more: _*)

  def withDefault(fields: ObjectNode, default: ColumnDefaultValue): ObjectNode = {
    if (default != null) {
      fields.set[JsonNode]("default", Json.node(default.getSql))
      val literal = Option(default.getValue).flatMap(Predicates.literal)
      fields.set[JsonNode]("default_value", Json.node(literal))
    }
    fields
  }

  def fromJson(json: JsonNode): Column = {
    val name = json.get("name").asText
    val dataType = DataType.fromJson(Json.text(json.get("type")))
    val column = Column.builderFor(name, dataType).nullable(json.path("nullable").asBoolean(true))
    Json.optional(json, "id").foreach(column.id)
    Json.optional(json, "comment").foreach(column.comment)
    Json.optional(json, "default").foreach { sql =>
      column.defaultValue(default(name, dataType, sql, Json.optional(json, "default_text")))
    }
    Option(json.get("state")).filterNot(_.isNull).foreach(state => column.metadata(StateColumn.metadata(state)))
    column.build()
  }

  /** Another engine stored SQL, as Paimon's connector takes it, or else the text of a value. */
  private def default(name: String, dataType: DataType, sql: String, text: Option[String]): ColumnDefaultValue =
    try new ColumnDefaultValue(sql, SqlTypes.constant(name, dataType, sql))
    catch { case _: AnalysisException if text.isDefined => default(name, dataType, text.get, None) }
}
