package org.apache.spark.sql.keyfold.aggregates

import org.apache.spark.sql.catalyst.analysis.UnresolvedAlias
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction, Complete}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types.{BinaryType, DataType, Metadata, MetadataBuilder, StringType}

/** Driver side: calls over aggregate states become expressions once the types of their arguments are known. The
  * signature of a column of states is in its metadata: such columns are BINARY to everybody else.
  */
object AggregateStates extends Rule[LogicalPlan] {
  import keyfold.spark.questions.StateColumn.Key

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case node if node.childrenResolved && node.expressions.exists(_.exists(isReady)) =>
      node.mapExpressions(named).transformExpressionsUp { case call: StateCall if isReady(call) => made(call) }
        .mapExpressions(tagged)
  }

  private def isReady(expression: Expression): Boolean = expression match {
    case call: StateCall => call.childrenResolved
    case _ => false
  }

  private def isOpen(expression: Expression): Boolean = !expression.resolved && !expression.exists(_.isInstanceOf[StateCall])

  private def named(expression: Expression): Expression = expression match {
    case alias: UnresolvedAlias
        if alias.aliasFunc.isEmpty && alias.child.isInstanceOf[StateCall] && !alias.child.exists(isOpen) =>
      Alias(alias.child, toPrettySQL(alias.child))()
    case other => other
  }

  /** An alias of a state has its signature. */
  private def tagged(expression: Expression): Expression = expression match {
    case alias: Alias if !alias.metadata.contains(Key) =>
      signature(alias.child).fold[Expression](alias)(found => alias.copy(child = alias.child)(exprId = alias.exprId,
        qualifier = alias.qualifier, explicitMetadata = Some(metadata(alias.metadata, found)),
        nonInheritableMetadataKeys = alias.nonInheritableMetadataKeys))
    case other => other
  }

  private def metadata(own: Metadata, signature: String): Metadata =
    new MetadataBuilder().withMetadata(own).putString(Key, signature).build()

  /** The signature of the states that an expression gives, as far as one can see. */
  def signature(expression: Expression): Option[String] = expression match {
    case gives: GivesState => gives.signature
    case named: NamedExpression if named.resolved && named.metadata.contains(Key) => Some(named.metadata.getString(Key))
    case aggregate: AggregateExpression => signature(aggregate.aggregateFunction)
    case window: WindowExpression => signature(window.windowFunction)
    case other if other.resolved && other.dataType == BinaryType =>
      val parts = other.children.filter(_.dataType == BinaryType).map(signature)
      if (parts.nonEmpty && parts.distinct.length == 1) parts.head else None
    case _ => None
  }

  private def made(call: StateCall): Expression = call.verb match {
    case "state" => StateOf(call)
    case "combine" => aggregated(combined(call), call)
    case "merge" => aggregated(merged(call, givesState = false), call)
    case "union" => aggregated(merged(call, givesState = true), call)
    case "finalize" => FinalizedState(call.name, call.arguments, finalized(call))
    case _ => throw Refusal(s"${call.name} is not supported: use ${call.function} of exploded arrays")
  }

  private def aggregated(function: AggregateFunction, call: StateCall): Expression =
    AggregateExpression(function, Complete, isDistinct = false, call.filter)

  private def combined(call: StateCall): AggregateFunction = {
    val bound = StateOf.bound(call)
    val inputs = StateOf.cast(call.arguments, bound)
    if (bound.isSparks)
      CombinedState(bound.aggregate(inputs), Shape(call.name, bound.signature, bound.constants, givesState = true))
    else if (bound.isFold) bound.fold(call.name, inputs.head, takes = false, gives = true)
    else bound.fold(call.name, bound.state(inputs), takes = true, gives = true)
  }

  private def merged(call: StateCall, givesState: Boolean): AggregateFunction = {
    val (child, bound) = ofState(call)
    def shape = Shape(call.name, bound.signature, "", givesState)
    child match {
      // each field of a state that is made on the spot would make it anew
      case StateOf(arguments, own, _) if own.isSparks =>
        CombinedState(own.aggregate(StateOf.cast(arguments, own)), shape, own.finishes)
      case _ if bound.isSparks => MergedState(bound.buffered, child, bound.fields, shape, bound.finishes)
      case _ => bound.fold(call.name, child, takes = true, gives = givesState)
    }
  }

  private def finalized(call: StateCall): Expression = {
    val (child, bound) = ofState(call)
    if (bound.isFold) FoldOfState(child, bound.signature, bound.result,
      FoldFunction.ofNothing(bound.empty, bound.result), call.name)
    else if (bound.isSparks) {
      val state = FieldsOfState(child, bound.signature, bound.fields, call.name)
      val function = bound.buffered
      val fields = function.aggBufferAttributes.map(_.exprId).zipWithIndex.toMap
      val result = BoundState.finish(function.evaluateExpression, bound.finishes).transform {
        case field: AttributeReference if fields.contains(field.exprId) => GetStructField(state, fields(field.exprId))
      }
      If(IsNull(child), Literal.create(null, result.dataType), result)
    } else If(IsNull(child), Literal.create(null, bound.result),
      FoldOfRow(bound.fold(call.name, child, takes = true, gives = false)))
  }

  /** The one argument, a state, and its function. */
  private def ofState(call: StateCall): (Expression, BoundState) = call.arguments match {
    case Seq(child) =>
      val found = signature(child).getOrElse(throw Refusal(s"${call.name} takes a state, which ${call.function}_state " +
        s"or a column of AGG_STATE<${call.function}(…)> gives; ${child.sql} is ${child.dataType.sql}" +
        (if (child.dataType == BinaryType) ", and it is not known of which aggregate" else "")))
      val bound = BoundState.ofSignature(found)
      if (bound.name != call.function) throw Refusal(
        s"${call.name} requires a state of ${call.function}, but got a state of $found (${child.sql})")
      (child, bound)
    case several => throw Refusal(s"${call.name} takes one state, found ${several.length} arguments")
  }
}

/** Driver side: the result of a state by the name that was written, until Spark's optimizer puts it in place. */
final case class FinalizedState(name: String, parameters: Seq[Expression], replacement: Expression)
    extends RuntimeReplaceable with InheritAnalysisRules {
  override def prettyName: String = name
  override protected def withNewChildInternal(made: Expression): FinalizedState = copy(replacement = made)
}

/** Both sides: the state of each row by itself. */
final case class StateOf(children: Seq[Expression], bound: BoundState, name: String)
    extends Expression with RuntimeReplaceable with GivesState {
  override lazy val replacement: Expression = bound.state(StateOf.cast(children, bound))
  override def signature: Option[String] = Some(bound.signature)
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  override def foldable: Boolean = false // VALUES are checked before they are computed
  override def prettyName: String = name
  override protected def withNewChildrenInternal(made: IndexedSeq[Expression]): StateOf = copy(children = made)
}

object StateOf {
  def bound(call: StateCall): BoundState = {
    val (named, placed) = call.arguments.partition(_.isInstanceOf[NamedArgumentExpression])
    def text(one: Expression): Option[String] =
      if (one.foldable) Option(Cast(one, StringType).eval()).map(_.toString) else None
    BoundState.ofCall(call.function, placed.map(_.dataType), placed.map(text),
      named.collect { case one: NamedArgumentExpression => one.key -> text(one.value) }.toMap)
  }

  def apply(call: StateCall): StateOf = {
    call.arguments.find(!_.deterministic).foreach(one =>
      throw Refusal(s"${call.name} takes deterministic arguments, and ${one.sql} is not"))
    val own = bound(call)
    if (own.isFold && call.arguments.exists(_.exists(_.isInstanceOf[AggregateExpression])))
      throw Refusal(s"${call.name} of an aggregate is not supported: compute the aggregate in a subquery")
    StateOf(call.arguments.take(own.arguments.length), own, call.name)
  }

  /** The arguments that are not constants, in the types that the function takes. */
  def cast(arguments: Seq[Expression], bound: BoundState): Seq[Expression] =
    arguments.zip(bound.arguments).map { case (one, kind) =>
      if (DataType.equalsStructurally(one.dataType, kind, ignoreNullability = true)) one else Cast(one, kind)
    }
}
