package keyfold.spark.procedures

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldCatalog}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.keyfold.reads.Analysis
import org.apache.spark.sql.types._

/** Driver side: `CALL sys.analyze(table => …)`: statistics of columns, which Spark's optimizer then has. */
final class AnalyzeProcedure(catalog: KeyfoldCatalog)
    extends KeyfoldProcedure("analyze", "counts rows and the values of columns, for Spark's optimizer", catalog) {

  override protected val optional: Seq[(String, DataType, String)] = Seq(
    ("columns", StringType, "names, with commas between them; all columns when left out"))

  override protected val result: StructType = new StructType()
    .add("snapshot_id", LongType).add("row_count", LongType).add("columns", ArrayType(StringType))

  override protected def call(table: KeyfoldTable, arguments: Arguments): Seq[JsonNode] = {
    val named = arguments.text("columns").map(_.split(",").toSeq.map(_.trim).filter(_.nonEmpty))
    val (rows, found) = Analysis.of(table, named)
    val snapshot = table.questions.ask("store_statistics", "table" -> table.description.handle, "rows" -> rows,
      "columns" -> found)
    Seq(Json.obj("snapshot_id" -> snapshot, "row_count" -> rows, "columns" -> found.map(_.get("name"))))
  }
}
