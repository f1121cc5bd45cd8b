package org.apache.spark.sql.keyfold.statements

import org.apache.spark.sql.catalyst.analysis.ResolvedInlineTable
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoStatement, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.keyfold.Ours
import org.apache.spark.sql.types.{DataType, DateType, StringType, TimestampNTZType, TimestampType}

/** Driver side: texts of an INSERT … VALUES in columns of DATE and TIMESTAMP, read as CAST reads them: so the documents
  * of other systems write them, and Spark takes none. Rows of queries stay as they are. Among the resolution rules,
  * before Spark compares the types.
  */
object TimesInValues extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case insert: InsertIntoStatement if !insert.byName => insert.table match {
        case Ours.Relation(relation, _) =>
          val made = read(insert.query, targets(insert, relation.output))
          if (made eq insert.query) insert else insert.copy(query = made)
        case _ => insert
      }
  }

  /** The types of the columns that the values go to, in their order. */
  private def targets(insert: InsertIntoStatement, columns: Seq[Attribute]): Seq[Option[DataType]] = {
    def isNamed(names: Iterable[String])(column: Attribute) = names.exists(conf.resolver(_, column.name))
    if (insert.userSpecifiedCols.nonEmpty)
      insert.userSpecifiedCols.map(name => columns.find(isNamed(Seq(name))).map(_.dataType))
    else columns.filterNot(isNamed(insert.partitionSpec.collect { case (name, Some(_)) => name }))
      .map(column => Some(column.dataType))
  }

  private def read(values: LogicalPlan, targets: Seq[Option[DataType]]): LogicalPlan = values match {
    case rows @ (_: LocalRelation | _: ResolvedInlineTable) =>
      val made = rows.output.zipWithIndex.map {
        case (text, at) if text.dataType == StringType =>
          time(targets, at).fold[NamedExpression](text)(kind => Alias(Cast(text, kind, ansiEnabled = true), text.name)())
        case (value, _) => value
      }
      if (made == rows.output) rows else Project(made, rows)
    case other => other
  }

  private def time(targets: Seq[Option[DataType]], at: Int): Option[DataType] =
    targets.lift(at).flatten.filter(Set[DataType](DateType, TimestampType, TimestampNTZType))
}
