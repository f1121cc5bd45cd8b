package org.apache.spark.sql.keyfold.statements

import keyfold.spark.table.KeyfoldTable
import keyfold.spark.write.{KeyfoldWriteBuilder, TargetColumns, WriteMode}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.NamedRelation
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.{AppendData, LogicalPlan, OverwriteByExpression, V2WriteCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.{InternalOutputModes, WriteToStream}
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog}
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, LogicalWriteInfoImpl, WriteBuilder}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.keyfold.paths.TableAtPath
import org.apache.spark.sql.keyfold.writes.ExtraColumns

/** Driver side: resolves the rows that a streaming query writes to a table of ours as a statement's, by name:
  * casts, DEFAULT and NULL for columns it lacks, NOT NULL, states. Spark does none of that for streams. Done once,
  * when the query starts.
  */
final case class StreamsInto(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case stream: WriteToStream if stream.inputQuery.resolved => stream.sink match {
        case _: StreamTarget => stream
        case table: KeyfoldTable =>
          val (catalog, ident) = stream.catalogAndIdent.getOrElse(throw Refusal(s"${table.name()} has no catalog"))
          resolved(stream, table, catalog, ident)
        case at: TableAtPath => at.target match {
            case table: KeyfoldTable => resolved(stream, table, at.place.catalog, at.place.ident)
            case other => throw Refusal(s"${other.name()} is read only")
          }
        case _ => stream
      }
    case _ => plan
  }

  private def resolved(
      stream: WriteToStream, table: KeyfoldTable, catalog: TableCatalog, ident: Identifier): WriteToStream = {
    val relation = DataSourceV2Relation.create(table, Some(catalog), Some(ident))
    val analyzer = session.sessionState.analyzer
    val names = stream.inputQuery.output.map(_.name)
    ExtraColumns.check(table, names, isByName = true)
    val named = TargetColumns.mark(Some(names))
    val write = analyzer.execute(written(stream, relation, Map(named)))
    analyzer.checkAnalysis(write)
    write match {
      case write: V2WriteCommand => stream.copy(sink = new StreamTarget(table, named), inputQuery = write.query,
          catalogAndIdent = Some(catalog -> ident))
      case other => throw Refusal(s"a stream into ${table.name()} became ${other.nodeName}")
    }
  }

  private def written(stream: WriteToStream, relation: NamedRelation, options: Map[String, String]): LogicalPlan =
    if (stream.outputMode == InternalOutputModes.Complete)
      OverwriteByExpression.byName(relation, stream.inputQuery, Literal.TrueLiteral, options)
    else AppendData.byName(relation, stream.inputQuery, options)
}

/** Driver side: a table that a streaming query writes to, with the columns that its schema named. */
final class StreamTarget(table: KeyfoldTable, mark: (String, String))
    extends KeyfoldTable(table.questions, table.description) {
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = KeyfoldWriteBuilder(table,
    LogicalWriteInfoImpl(info.queryId, info.schema, TargetColumns.added(info.options, mark)), WriteMode.Append)
}
