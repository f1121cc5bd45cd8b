package org.apache.spark.sql.keyfold.aggregates

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, UnaryNode}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types.{BinaryType, DataType}

/** Driver side: the state that a fold makes of one row. A node below computes it, for many rows at once. */
final case class FoldOfRow(call: FoldFunction) extends Expression with Unevaluable with NonSQLExpression {
  override def children: Seq[Expression] = call.children
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  override protected def withNewChildrenInternal(made: IndexedSeq[Expression]): FoldOfRow =
    copy(call.copy(children = made))
}

/** Both sides: the value in a fold's state; NULL of a NULL, and of no rows what the fold gives of them. */
final case class FoldOfState(child: Expression, signature: String, dataType: DataType, empty: Option[Literal],
    function: String) extends UnaryExpression with CodegenFallback with NonSQLExpression {
  @transient private lazy val header = StateBytes.header(signature)
  @transient private lazy val variable = Array(!UnsafeRow.isFixedLength(dataType))

  override def nullable: Boolean = true
  override protected def nullSafeEval(state: Any): Any = {
    val bytes = state.asInstanceOf[Array[Byte]]
    if (StateBytes.payload(bytes, header, function) == null) empty.map(_.value).orNull
    else StateBytes.open(bytes, header, variable, function).get(0, dataType)
  }
  override protected def withNewChildInternal(made: Expression): FoldOfState = copy(child = made)
}

/** Driver side: rows, and behind them the states that folds make of each. */
final case class StateRows(calls: Seq[Alias], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output ++ calls.map(_.toAttribute)
  override def producedAttributes: AttributeSet = AttributeSet(calls.map(_.toAttribute))
  override protected def withNewChildInternal(made: LogicalPlan): StateRows = copy(child = made)
}

/** Driver side: puts a node below each that has states of rows in its expressions. */
object StatesOfRows extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case rows: StateRows => rows
    case node if node.expressions.exists(_.exists(_.isInstanceOf[FoldOfRow])) => node match {
        case unary: UnaryNode => extracted(unary)
        case other => throw Refusal(s"states of single rows can't be made in ${other.nodeName}: make them in a subquery")
      }
  }

  private def extracted(node: UnaryNode): LogicalPlan = {
    val calls = node.expressions.flatMap(_.collect { case call: FoldOfRow => call }).distinctBy(_.canonicalized)
      .map(call => Alias(call, "state")())
    val places = calls.map(alias => alias.child.canonicalized -> alias.toAttribute).toMap
    val made = node.transformExpressions { case call: FoldOfRow => places(call.canonicalized) }
      .withNewChildren(Seq(StateRows(calls, node.child)))
    if (made.output.size == node.output.size) made else Project(node.output, made)
  }
}

/** Driver side: plans such a node. */
object StateRowsStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case StateRows(calls, child) => Seq(StateRowsExec(calls, planLater(child)))
    case _ => Nil
  }
}

/** Both sides: folds each row by itself, many in a round trip. */
final case class StateRowsExec(calls: Seq[Alias], child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output ++ calls.map(_.toAttribute)
  override def producedAttributes: AttributeSet = AttributeSet(calls.map(_.toAttribute))

  override protected def doExecute(): RDD[InternalRow] = {
    val folds = calls.map(_.child.asInstanceOf[FoldOfRow].call)
    val (inputs, all) = (child.output, output)
    child.execute().mapPartitions { rows =>
      if (rows.hasNext) StateRowsExec.folded(folds, inputs, all, rows) else Iterator.empty
    }
  }

  override protected def withNewChildInternal(made: SparkPlan): StateRowsExec = copy(child = made)
}

object StateRowsExec {
  private val MostRows = 4096

  private def folded(folds: Seq[FoldFunction], inputs: Seq[Attribute], all: Seq[Attribute],
      rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val batcher = new FoldBatcher(folds)
    val arguments = folds.map(fold => UnsafeProjection.create(fold.children, inputs))
    val states = new GenericInternalRow(folds.size)
    val whole = UnsafeProjection.create(all, all)
    val joined = new JoinedRow
    rows.map(_.copy()).grouped(MostRows).flatMap { some =>
      batcher.clear()
      some.foreach(row => batcher.columns.zip(arguments).foreach { case (column, argument) =>
        column.add(column.newGroup(), argument(row))
      })
      some.iterator.zipWithIndex.map { case (row, group) =>
        folds.zip(batcher.columns).zipWithIndex.foreach { case ((fold, column), i) =>
          states.update(i, fold.result(column, group))
        }
        whole(joined(row, states))
      }
    }
  }
}
