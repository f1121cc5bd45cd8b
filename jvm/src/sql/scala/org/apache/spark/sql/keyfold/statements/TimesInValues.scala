package org.apache.spark.sql.keyfold.statements

import org.apache.spark.sql.catalyst.analysis.ResolvedInlineTable
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoStatement, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.keyfold.KeyfoldNodes
import org.apache.spark.sql.types.{DataType, DateType, StringType, TimeType, TimestampNTZType, TimestampType}

/** Driver side: texts of an INSERT … VALUES in columns of DATE and TIMESTAMP, read as CAST reads them: so the documents
  * of other systems write them, and Spark takes none. So are its times, which have 6 digits as they are written, more
  * than a column may: Spark 4.3 takes none either. Rows of queries stay as they are. Among the resolution rules, before
  * Spark compares the types.
  */
object TimesInValues extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case insert: InsertIntoStatement if !insert.byName => insert.table match {
        case KeyfoldNodes.Relation(relation, _) =>
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
      val made = rows.output.zipWithIndex.map { case (value, at) =>
        targets.lift(at).flatten.filter(isRead(value.dataType, _)).fold[NamedExpression](value)(kind =>
          Alias(Cast(value, kind, ansiEnabled = true), value.name)())
      }
      if (made == rows.output) rows else Project(made, rows)
    case other => other
  }

  private def isRead(value: DataType, target: DataType): Boolean = target match {
    case DateType | TimestampType | TimestampNTZType => value == StringType
    case _ => target.isInstanceOf[TimeType] && value.isInstanceOf[TimeType] && value != target
  }
}
