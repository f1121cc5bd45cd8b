package org.apache.spark.sql.keyfold.statements

import scala.jdk.CollectionConverters._

import keyfold.spark.table.KeyfoldTable
import keyfold.spark.write.{KeyfoldWriteBuilder, TargetColumns, WriteMode}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.{AppendData, LogicalPlan, OverwriteByExpression, V2WriteCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.{InternalOutputModes, WriteToStream}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog}
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, LogicalWriteInfoImpl, WriteBuilder}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource
import org.apache.spark.sql.keyfold.{KeyfoldNodes, Refusal}
import org.apache.spark.sql.keyfold.paths.TableAtPath
import org.apache.spark.sql.keyfold.writes.ExtraColumns
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: resolves the rows that a streaming query writes to a table of ours as a statement's, by name:
  * casts, DEFAULT and NULL for columns it lacks, NOT NULL, states. Spark does none of that for streams. Done once,
  * when the query starts, if all its columns are of the table's types. Else it is done for each batch: only then
  * is it known whether the writer's option lets the table get what it lacks.
  */
final case class StreamsInto(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case stream: WriteToStream if stream.inputQuery.resolved => stream.sink match {
        case _: StreamTarget | _: WiderTarget => stream
        case table: KeyfoldTable =>
          val (catalog, ident) = stream.catalogAndIdent.getOrElse(throw Refusal(s"${table.name()} has no catalog"))
          resolved(stream, table, catalog, ident)
        case at: TableAtPath => at.target match {
            case table: KeyfoldTable => resolved(stream, table, at.place.catalog, at.place.ident)
            case other => throw Refusal(s"${other.name()} is read only")
          }
        case _ => stream
      }
    case write: WriteToMicroBatchDataSource => write.table match {
        case relation: DataSourceV2Relation => relation.table match {
            case wider: WiderTarget => ofBatch(write, wider)
            case _ => write
          }
        case _ => write
      }
    case _ => plan
  }

  private def resolved(
      stream: WriteToStream, table: KeyfoldTable, catalog: TableCatalog, ident: Identifier): WriteToStream = {
    val placed = stream.copy(catalogAndIdent = Some(catalog -> ident))
    if (fits(stream.inputQuery, table)) {
      val (relation, query) = written(stream.inputQuery, stream.outputMode, table, catalog, ident, adds = false)
      placed.copy(sink = relation.table, inputQuery = query)
    } else placed.copy(sink = new WiderTarget(table, catalog, ident))
  }

  private def fits(rows: LogicalPlan, table: KeyfoldTable): Boolean = rows.output.forall { column =>
    table.columns().exists { own =>
      conf.resolver(own.name, column.name) && DataType.equalsIgnoreCompatibleNullability(
        column.dataType, CharVarcharUtils.replaceCharVarcharWithString(own.dataType))
    }
  }

  private def ofBatch(write: WriteToMicroBatchDataSource, target: WiderTarget): LogicalPlan = {
    val table = target.catalog.loadTable(target.ident) match {
      case table: KeyfoldTable => table
      case other => throw Refusal(s"${other.name()} is read only")
    }
    val adds = ExtraColumns.areAdded(table.name(), new CaseInsensitiveStringMap(write.writeOptions.asJava))
    val (relation, query) = written(write.query, write.outputMode, table, target.catalog, target.ident, adds)
    write.withNewTable(relation).withNewChildren(Seq(query))
  }

  /** The relation of what a batch is written to, and its rows as they are written. */
  private def written(rows: LogicalPlan, mode: OutputMode, table: KeyfoldTable, catalog: TableCatalog,
      ident: Identifier, adds: Boolean): (DataSourceV2Relation, LogicalPlan) = {
    val relation = DataSourceV2Relation.create(table, Some(catalog), Some(ident))
    val names = rows.output.map(_.name)
    if (!adds) ExtraColumns.check(table, names, isByName = true)
    val named = TargetColumns.mark(Some(names))
    val analyzer = session.sessionState.analyzer
    val write = analyzer.execute(
      if (mode == InternalOutputModes.Complete)
        OverwriteByExpression.byName(relation, rows, Literal.TrueLiteral, Map(named), adds)
      else AppendData.byName(relation, rows, Map(named), adds))
    analyzer.checkAnalysis(write)
    write match {
      case write: V2WriteCommand => write.table match {
          case KeyfoldNodes.Relation(found, altered) => found.copy(table = new StreamTarget(altered, named)) -> write.query
          case other => throw Refusal(s"a stream into ${table.name()} became one into ${other.name}")
        }
      case other => throw Refusal(s"a stream into ${table.name()} became ${other.nodeName}")
    }
  }
}

/** Driver side: a table that a streaming query writes to, whose columns or types are others. */
final class WiderTarget(table: KeyfoldTable, val catalog: TableCatalog, val ident: Identifier)
    extends KeyfoldTable(table.questions, table.description)

/** Driver side: a table that a streaming query writes to, with the columns that its schema named. */
final class StreamTarget(table: KeyfoldTable, mark: (String, String))
    extends KeyfoldTable(table.questions, table.description) {
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = KeyfoldWriteBuilder(table,
    LogicalWriteInfoImpl(info.queryId, info.schema, TargetColumns.added(info.options, mark)), WriteMode.Append)
}
