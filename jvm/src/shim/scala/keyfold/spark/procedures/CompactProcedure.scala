package keyfold.spark.procedures

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldCatalog}
import keyfold.spark.jobs.{Compaction, CompactionPlan, StepOutcome}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.keyfold.reads.PartitionCondition
import org.apache.spark.sql.types._

/** Driver side: `CALL sys.compact(table => …)`: one Spark job, a row for each step. Steps that another commit
  * got in the way of are planned once more.
  */
final class CompactProcedure(catalog: KeyfoldCatalog)
    extends KeyfoldProcedure("compact", "merges the files of a table into fewer", catalog) {
  import CompactProcedure._

  override protected val optional: Seq[(String, DataType, String)] = Seq(
    ("partitions", StringType, "these partitions, as 'dt=2024-01-01,hh=1;dt=2024-01-02'"),
    ("compact_strategy", StringType, "'full': all files into one run (the default); 'minor': what is due"),
    ("order_strategy", StringType, "only 'none': files are ordered by key"),
    ("order_by", StringType, "not for primary-key tables"),
    ("where", StringType, "the partitions that satisfy a condition, as 'dt >= ''2024-01-01'''"),
    ("options", NullType, "table options for this call, as 'name=value,…' or a map"),
    ("max_bytes", LongType, "stop picking files when they are together so large"),
    ("dry_run", BooleanType, "say what would be done, and do nothing"))

  override protected val result: StructType = new StructType()
    .add("partition", StringType).add("bucket", IntegerType).add("level", IntegerType)
    .add("files_before", LongType).add("files_after", LongType)
    .add("bytes_before", LongType).add("bytes_after", LongType)
    .add("rows_before", LongType).add("rows_after", LongType)
    .add("snapshot_id", LongType).add("status", StringType).add("message", StringType)

  override protected def call(table: KeyfoldTable, arguments: Arguments): Seq[JsonNode] = {
    check(table, arguments)
    arguments.text("where").map(PartitionCondition(SparkSession.active, table, _)).getOrElse(Some(Nil)) match {
      case Some(where) => compacted(table, arguments, fields(arguments, where))
      case None => Seq(skipped("no partition satisfies the condition"))
    }
  }

  private def compacted(table: KeyfoldTable, arguments: Arguments, asked: Seq[(String, Any)]): Seq[JsonNode] = {
    val compaction = new Compaction(table)
    val plan = compaction.plan(asked: _*)
    if (plan.steps.isEmpty) plan.skipped.map(skipped).toSeq
    else if (arguments.flag("dry_run")) plan.steps.map(StepOutcome.planned(_).row)
    else rounds(compaction, plan, asked).map(_.row)
  }

  private def skipped(reason: String): JsonNode = Json.obj("status" -> "skipped", "message" -> reason)

  private def check(table: KeyfoldTable, arguments: Arguments): Unit =
    if (arguments.text("order_strategy").exists(_ != "none") || arguments.text("order_by").isDefined)
      throw Refusal(s"compact: order_strategy and order_by are for tables without a primary key; the files of "
        + s"${table.name()} are ordered by their key. Leave both out")

  private def fields(arguments: Arguments, where: Seq[JsonNode]): Seq[(String, Any)] =
    Seq("strategy" -> arguments.text("compact_strategy").getOrElse("full"), "where" -> where, "touched" -> None,
      "partitions" -> arguments.text("partitions"), "options" -> arguments.options,
      "max_bytes" -> arguments.long("max_bytes"))

  /** The outcomes of the steps; for those in conflict the newest attempt's. */
  private def rounds(compaction: Compaction, plan: CompactionPlan, asked: Seq[(String, Any)]): Seq[StepOutcome] = {
    var outcomes = compaction.run(plan, "compact")
    for (_ <- 1 until MostRounds if outcomes.exists(_.isConflict)) {
      val (lost, kept) = outcomes.partition(_.isConflict)
      val places = lost.map(_.step.place).toSet
      outcomes = kept ++ compaction.run(compaction.plan(asked: _*).only(places), "compact, once more,")
    }
    outcomes
  }
}

object CompactProcedure {
  private val MostRounds = 5
}
