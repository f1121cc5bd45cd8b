package org.apache.spark.sql.keyfold.statements

import keyfold.spark.{KeyfoldException, Kinds}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, NonSQLExpression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, V2WriteCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.keyfold.KeyfoldNodes
import org.apache.spark.sql.types.DataType

/** Driver side: the error of a NULL in a column of ours that takes none: it names table, column and remedy, where
  * Spark, which checks the rows of a write, names classes of Scala.
  */
object NullsInWrites extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case command: V2WriteCommand if command.resolved => (command.table, command.query) match {
        case (KeyfoldNodes(table), checked: Project) => command.withNewQuery(explained(table, checked))
        case (KeyfoldNodes.Target(_, table), checked) => command.withNewQuery(explained(table, checked))
        case _ => command
      }
  }

  private def explained(table: KeyfoldTable, checked: LogicalPlan): LogicalPlan = checked.transformExpressions {
    case found: AssertNotNull => NotNull(found.child, sentence(table, found.walkedTypePath))
  }

  private def sentence(table: KeyfoldTable, path: Seq[String]): String = {
    val column = path.mkString(".")
    val advice =
      if (path.size == 1 && table.description.primaryKey.contains(column))
        "it is part of the primary key. Leave such rows out, or create the table with " +
          "TBLPROPERTIES ('primary-key.nullable' = 'true'), where NULL is one more value of a key"
      else s"it is NOT NULL. Leave such rows out, or ALTER TABLE ${table.name()} ALTER COLUMN $column DROP NOT NULL"
    s"writing table ${table.name()}: a row has NULL in column $column, but $advice"
  }
}

/** Both sides: a value, which must not be NULL. */
final case class NotNull(child: Expression, sentence: String) extends UnaryExpression with NonSQLExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = false

  override def eval(input: InternalRow): Any = {
    val value = child.eval(input)
    if (value == null) throw NotNull.failure(sentence)
    value
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    val said = ctx.addReferenceObj("sentence", sentence)
    val check = code"if (${value.isNull}) throw ${classOf[NotNull].getName}.failure($said);"
    ev.copy(code = code"${value.code}\n$check", isNull = FalseLiteral, value = value.value)
  }

  override protected def withNewChildInternal(made: Expression): NotNull = copy(child = made)
}

object NotNull {
  def failure(sentence: String): RuntimeException = new KeyfoldException(Kinds.Table, sentence)
}
