package keyfold.spark.catalog

import keyfold.spark.Json
import keyfold.spark.questions.Columns
import org.apache.spark.sql.connector.catalog.TableInfo
import org.apache.spark.sql.connector.catalog.constraints.PrimaryKey

/** Driver side: CREATE TABLE as Spark has parsed it. Python decides whether a table can be so. */
object NewTable {
  def fields(info: TableInfo): Seq[(String, Any)] = Seq(
    "columns" -> info.columns.map(Columns.toJson),
    "partitioning" -> info.partitions.map { transform =>
      Json.obj("transform" -> transform.name, "columns" -> transform.references.map(_.fieldNames),
        "text" -> transform.describe)
    },
    "constraints" -> Option(info.constraints).toSeq.flatten.map {
      case key: PrimaryKey => Json.obj("primary_key" -> key.columns.map(_.fieldNames))
      case other => Json.obj("text" -> other.toDDL)
    },
    "properties" -> info.properties)
}
