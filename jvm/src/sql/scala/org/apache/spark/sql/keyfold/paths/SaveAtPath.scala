package org.apache.spark.sql.keyfold.paths

import scala.jdk.CollectionConverters._

import keyfold.spark.{KeyfoldException, KeyfoldSource}
import keyfold.spark.table.KeyfoldTable
import keyfold.spark.write.WriteMode
import org.apache.spark.sql.{DataFrame, SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{NoSuchTableException, ResolvedIdentifier, TableAlreadyExistsException}
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.connector.expressions.{Expressions, Transform}
import org.apache.spark.sql.execution.datasources.DataSourceUtils
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf.PartitionOverwriteMode
import org.apache.spark.sql.keyfold.{Fields, Refusal}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: `df.write.format("keyfold").mode(…).save(path)`. A table that is not there is made, with key and
  * options as the writer's options name them; of one that is there they must be those it has. `overwrite`
  * replaces rows, in one snapshot, and nothing else.
  */
object SaveAtPath {
  def apply(session: SparkSession, mode: SaveMode, parameters: Map[String, String], data: DataFrame): Unit =
    new SaveAtPath(session, mode, parameters, data).run()

  private val Clustering = "__clustering_columns"
}

private final class SaveAtPath(session: SparkSession, mode: SaveMode, parameters: Map[String, String], data: DataFrame) {
  import SaveAtPath._

  private val options = new CaseInsensitiveStringMap(parameters.asJava)
  private val place = TableAtPath.place(options)
  private val ofTable = TableOptions(place.catalog, place.path, named)
  private val ofWrite = named -- ofTable.keys.filterNot(_.equalsIgnoreCase("write-only"))

  private val partitioning: Seq[String] =
    Option(options.get(DataSourceUtils.PARTITIONING_COLUMNS_KEY)).toSeq.flatMap(DataSourceUtils.decodePartitioningColumns)

  def run(): Unit = {
    if (options.containsKey(Clustering))
      throw Refusal(s"clusterBy is not supported for ${place.path}: rows are kept in the order of their key")
    found match {
      case Some(_) if mode == SaveMode.Ignore => ()
      case Some(_) if mode == SaveMode.ErrorIfExists => throw new TableAlreadyExistsException(place.ident)
      case Some(table) => write(table)
      case None if mode == SaveMode.Append || mode == SaveMode.Overwrite =>
        try execute(createAs(ifNotExists = false))
        catch { case raced: Exception if isThere(raced) => write(found.getOrElse(throw raced)) }
      case None => execute(createAs(ifNotExists = mode == SaveMode.Ignore))
    }
  }

  /** Another job made the table first: before this one began with its rows, or while it wrote them. */
  private def isThere(failure: Exception): Boolean = failure match {
    case _: TableAlreadyExistsException => true
    case failure: KeyfoldException => failure.kind == "TableExistsError"
    case _ => false
  }

  /** Spark's own map gives names in lower case; columns are named in some. */
  private def named: Map[String, String] = parameters match {
    case map: CaseInsensitiveMap[String] => map.originalMap
    case map => map
  }

  private def found: Option[KeyfoldTable] =
    try place.load() match {
      case table: KeyfoldTable => Some(table)
      case other => throw Refusal(s"${other.name()} is read only")
    } catch { case _: NoSuchTableException => None }

  private def write(table: KeyfoldTable): Unit = {
    table.questions.ask("check_given", "table" -> table.description.handle, "properties" -> ofTable,
      "partitioning" -> partitioning): Unit
    val relation = DataSourceV2Relation.create(table, Some(place.catalog), Some(place.ident))
    val rows = data.queryExecution.logical
    execute(mode match {
      case SaveMode.Append => AppendData.byName(relation, rows, ofWrite)
      case _ if isDynamic(table) => OverwritePartitionsDynamic.byName(relation, rows, ofWrite)
      case _ => OverwriteByExpression.byName(relation, rows, Literal(true), ofWrite)
    })
  }

  /** The option goes before the setting, as with Spark's own files. */
  private def isDynamic(table: KeyfoldTable): Boolean = {
    val isWanted = WriteMode.isDynamic(table.name(), options)
      .getOrElse(session.sessionState.conf.partitionOverwriteMode == PartitionOverwriteMode.DYNAMIC)
    isWanted && table.description.partitioning.nonEmpty
  }

  private def createAs(ifNotExists: Boolean): LogicalPlan = {
    val columns: Seq[Transform] = partitioning.map(name => Expressions.identity(name))
    val spec = Fields.replaced(saved.tableSpec.asInstanceOf[UnresolvedTableSpec], "properties" -> ofTable)
    Fields.replaced(saved, "name" -> ResolvedIdentifier(place.catalog, place.ident), "partitioning" -> columns,
      "query" -> data.queryExecution.analyzed, "tableSpec" -> spec, "writeOptions" -> ofWrite,
      "ignoreIfExists" -> ifNotExists)
  }

  /** A statement whose fields are as Spark has them where nothing is said. */
  private lazy val saved: CreateTableAsSelect = session.sessionState.sqlParser
    .parsePlan(s"CREATE TABLE t USING ${KeyfoldSource.Name} AS SELECT 1").asInstanceOf[CreateTableAsSelect]

  private def execute(command: LogicalPlan): Unit = session.sessionState.executePlan(command).assertCommandExecuted()
}
