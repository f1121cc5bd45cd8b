package org.apache.spark.sql.keyfold.aggregates

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan, Project, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types.DataType

/** Driver side: the fold of one row: its state, or the result of a state. A node below computes it, for many rows
  * at once.
  */
final case class FoldOfRow(call: FoldFunction) extends Expression with Unevaluable with NonSQLExpression {
  override def children: Seq[Expression] = call.children
  override def dataType: DataType = call.dataType
  override def nullable: Boolean = call.nullable
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
    if (java.util.Arrays.equals(header, bytes)) empty.map(_.value).orNull
    else StateBytes.open(bytes, header, variable, function).get(0, dataType)
  }
  override protected def withNewChildInternal(made: Expression): FoldOfState = copy(child = made)
}

/** Driver side: rows, and behind them what folds make of each. */
final case class StateRows(calls: Seq[Alias], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output ++ calls.map(_.toAttribute)
  override def producedAttributes: AttributeSet = AttributeSet(calls.map(_.toAttribute))
  override protected def withNewChildInternal(made: LogicalPlan): StateRows = copy(child = made)
}

/** Driver side: puts a node below each that has folds of rows in its expressions. */
object StatesOfRows extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case rows: StateRows => rows
    case groups: Aggregate if groups.aggregateExpressions.exists(isOfGroups(groups, _)) => split(groups)
    case node => extracted(node)
  }

  private def extracted(node: LogicalPlan): LogicalPlan = {
    // those in others' arguments first
    val calls = node.expressions.flatMap(_.collect { case call: FoldOfRow => call })
      .filterNot(_.children.exists(_.exists(_.isInstanceOf[FoldOfRow]))).distinctBy(_.canonicalized)
    if (calls.isEmpty) node
    else {
      val ofChildren = calls.groupBy(sideOf(node, _)).map { case (side, some) =>
        side -> some.map(call => Alias(call, "made")())
      }
      val places = ofChildren.values.flatten.map(alias => alias.child.canonicalized -> alias.toAttribute).toMap
      val children = node.children.zipWithIndex.map { case (child, side) =>
        ofChildren.get(side).fold(child)(StateRows(_, child))
      }
      val made = extracted(node.withNewChildren(children).transformExpressions {
        case call: FoldOfRow if places.contains(call.canonicalized) => places(call.canonicalized)
      })
      if (made.output.size == node.output.size) made else Project(node.output, made)
    }
  }

  /** The child that has all columns of a call. */
  private def sideOf(node: LogicalPlan, call: FoldOfRow): Int = {
    val isPlace = (node.isInstanceOf[UnaryNode] || node.isInstanceOf[Join]) && !call.exists(_.isInstanceOf[NamedLambdaVariable])
    val side = if (isPlace) node.children.indexWhere(child => call.references.subsetOf(child.outputSet)) else -1
    if (side < 0) throw Refusal(
      s"${call.call.name} is not supported in this place of ${node.nodeName}: compute it in a subquery")
    side
  }

  /** Whether results of an aggregation have calls that are neither in its keys nor in arguments of its functions. */
  private def isOfGroups(groups: Aggregate, result: Expression): Boolean = result match {
    case _: AggregateExpression => false
    case key if groups.groupingExpressions.exists(_.semanticEquals(key)) => false
    case _: FoldOfRow => true
    case other => other.children.exists(isOfGroups(groups, _))
  }

  /** An aggregation, and above it what is made of its groups. */
  private def split(groups: Aggregate): LogicalPlan = {
    val (keys, functions, results, child) = PhysicalAggregation.unapply(groups).get
    val below = extracted(Project(child.output ++ keys.collect { case key: Alias => key }, child))
    val found = functions.map(call => Alias(call, "result")(exprId = call.resultId))
    extracted(Project(results, extracted(Aggregate(keys.map(_.toAttribute), keys.map(_.toAttribute) ++ found, below))))
  }
}

/** Driver side: plans such a node. */
object StateRowsStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case StateRows(calls, child) => Seq(StateRowsExec(calls, planLater(child)))
    case _ => Nil
  }
}

/** Both sides: folds each row by itself, or takes the results whose numbers the window below gives, many in a round trip. */
final case class StateRowsExec(calls: Seq[Alias], child: SparkPlan, frames: Option[FoldBatcher] = None)
    extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output ++ calls.map(_.toAttribute)
  override def producedAttributes: AttributeSet = AttributeSet(calls.map(_.toAttribute))
  override def outputPartitioning: Partitioning = child.outputPartitioning // rows stay where they are, in their order
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override protected def doExecute(): RDD[InternalRow] = {
    val folds = calls.map(_.child.asInstanceOf[FoldOfRow].call)
    val (inputs, all, own) = (child.output, output, frames)
    child.execute().mapPartitions { rows =>
      val batcher = own.getOrElse(FoldBatcher()(folds))
      val arguments = folds.map(fold => UnsafeProjection.create(Seq(fold.argument), inputs))
      val (states, joined, whole) = (new GenericInternalRow(folds.size), new JoinedRow, UnsafeProjection.create(all, all))
      Iterator.continually(()).takeWhile(_ => rows.hasNext).flatMap { _ =>
        if (own.isEmpty) batcher.clear() else batcher.columns.foreach(_.forget())
        val some = new ArrayBuffer[(InternalRow, IndexedSeq[Long])]
        var bytes = 0L
        while (rows.hasNext && bytes < StateRowsExec.mostBytes && (some.isEmpty || !batcher.isDue)) {
          val row = rows.next().copy()
          bytes += Math.max(StateRowsExec.leastBytes, row match { case made: UnsafeRow => made.getSizeInBytes; case _ => 0 })
          some += row -> batcher.columns.zip(arguments).map { case (column, argument) =>
            if (own.isEmpty) column.add(column.newGroup(), argument(row)) else argument(row).getLong(0)
          }
        }
        some.iterator.map { case (row, groups) =>
          batcher.columns.indices.foreach(i => states.update(i, batcher.columns(i).value(groups(i))))
          whole(joined(row, states))
        }
      }
    }
  }

  override protected def withNewChildInternal(made: SparkPlan): StateRowsExec = copy(child = made)
}

object StateRowsExec {
  private val (mostBytes, leastBytes) = (16L << 20, 4L << 10) // of the rows that are held, and of each: 4,096 at most
}
