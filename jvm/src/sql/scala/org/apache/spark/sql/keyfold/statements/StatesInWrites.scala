package org.apache.spark.sql.keyfold.statements

import scala.util.{Left, Right, Try}

import keyfold.spark.questions.StateColumn
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.keyfold.{KeyfoldNodes, Refusal}
import org.apache.spark.sql.keyfold.aggregates.{AggregateStates, BoundState, StateOf}
import org.apache.spark.sql.types.{DataType, NullType}

/** Driver side: checks that columns of aggregate states get states of their signature. Arguments of a
  * `_state(…)` that is written as it is are cast to the types that the column declares.
  */
object StatesInWrites extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case command: V2WriteCommand if command.resolved => command.table match {
        case KeyfoldNodes(table) =>
          val checked = columns(table).foldLeft(command.query) { case (query, (place, column)) =>
            if (place < query.output.length) column.written(query, place) else query
          }
          if (checked eq command.query) command else command.withNewQuery(checked)
        case KeyfoldNodes.Target(_, table) => columns(table).foldLeft(command) { case (changed, (place, column)) =>
            changed.withNewQuery(assigned(changed.query, place + 1, column))
          }
        case _ => command
      }
  }

  /** Checks the value that a statement which changes rows puts into a column, which comes behind the change's kind. */
  private def assigned(query: LogicalPlan, place: Int, column: WrittenState): LogicalPlan = query match {
    case project: Project if place < project.projectList.size && project.projectList(place).name == column.name =>
      project.copy(projectList = project.projectList.updated(place, column.assigned(project.projectList(place))))
    case rows: MergeRows =>
      def all(instructions: Seq[MergeRows.Instruction]): Seq[MergeRows.Instruction] = instructions.map {
        case keep: MergeRows.Keep => keep.copy(output = keep.output.updated(place, column.checked(keep.output(place))))
        case other => other
      }
      rows.copy(matchedInstructions = all(rows.matchedInstructions),
        notMatchedInstructions = all(rows.notMatchedInstructions),
        notMatchedBySourceInstructions = all(rows.notMatchedBySourceInstructions))
    case other => other
  }

  private def columns(table: KeyfoldTable): Seq[(Int, WrittenState)] =
    table.columns().toSeq.zipWithIndex.flatMap { case (column, place) =>
      StateColumn.of(column).map(state => place -> new WrittenState(table, column.name, state))
    }
}

/** Driver side: a column of states that a statement writes. */
final class WrittenState(table: KeyfoldTable, val name: String, target: StateColumn) {
  private lazy val bound = BoundState.ofSignature(target.declared)

  /** The value as it is, if it is a state of the signature. */
  def assigned(value: NamedExpression): NamedExpression = value match {
    case alias: Alias => alias.withNewChildren(Seq(checked(passed(alias.child)))).asInstanceOf[NamedExpression]
    case other => checked(other).asInstanceOf[NamedExpression]
  }

  /** The plan whose column at this place has states of the signature. */
  def written(plan: LogicalPlan, place: Int): LogicalPlan = plan match {
    case project: Project => list(project.projectList, place, project.child) match {
        case Left(named) => replaced(project, project.projectList, place, named)(list => project.copy(projectList = list))
        case Right(child) => moved(project, child)
      }
    case group: Aggregate => list(group.aggregateExpressions, place, group.child) match {
        case Left(named) =>
          replaced(group, group.aggregateExpressions, place, named)(list => group.copy(aggregateExpressions = list))
        case Right(child) => moved(group, child)
      }
    case union: Union =>
      val children = union.children.map(written(_, place))
      if (children.zip(union.children).forall { case (one, other) => one eq other }) union
      else union.withNewChildren(children)
    case node: UnaryNode if below(node.child, node.output(place)) >= 0 =>
      moved(node, written(node.child, below(node.child, node.output(place))))
    case rows: LocalRelation if rows.data.forall(_.isNullAt(place)) => rows
    case other => checked(other.output(place)): Unit; other
  }

  private def moved(node: UnaryNode, child: LogicalPlan): LogicalPlan =
    if (child eq node.child) node else node.withNewChildren(Seq(child))

  private def replaced(node: LogicalPlan, all: Seq[NamedExpression], place: Int, made: NamedExpression)(
      copy: Seq[NamedExpression] => LogicalPlan): LogicalPlan =
    if (made eq all(place)) node else copy(all.updated(place, made))

  private def below(child: LogicalPlan, attribute: Attribute): Int =
    child.output.indexWhere(_.exprId == attribute.exprId)

  /** The checked expression of a list, or the child whose column it passes on. */
  private def list(all: Seq[NamedExpression], place: Int, child: LogicalPlan): Either[NamedExpression, LogicalPlan] =
    all(place) match {
      case attribute: Attribute => Right(written(child, below(child, attribute)))
      case alias: Alias => passed(alias.child) match {
          case attribute: Attribute if below(child, attribute) >= 0 => Right(written(child, below(child, attribute)))
          case own =>
            val made = checked(own)
            Left(if (made eq own) alias else alias.withNewChildren(Seq(made)).asInstanceOf[NamedExpression])
        }
      case other => throw refused(other.sql)
    }

  /** The value without casts that change nothing, which Spark puts around what is written. */
  private def passed(expression: Expression): Expression = expression match {
    case cast: Cast if cast.child.dataType == cast.dataType => passed(cast.child)
    case other => other
  }

  def checked(expression: Expression): Expression = expression match {
    case producer: StateOf => cast(producer)
    case nothing if isNull(nothing) => nothing
    case other => AggregateStates.signature(other) match {
        case Some(target.signature) => other
        case Some(found) => throw refusedState(found)
        case None => throw refused(other.sql)
      }
  }

  private def isNull(expression: Expression): Boolean = expression match {
    case Literal(null, _) => true
    case cast: Cast => isNull(cast.child)
    case other => other.dataType == NullType
  }

  private def cast(producer: StateOf): Expression = {
    val isSame = producer.bound.name == bound.name && producer.bound.options == bound.options &&
      producer.children.length == bound.arguments.length
    if (!isSame) throw refusedState(producer.bound.signature)
    val arguments = producer.children.zip(bound.arguments).zip(target.required).map { case ((argument, kind), required) =>
      val isWider = argument.dataType == NullType || Cast.canUpCast(argument.dataType, kind) || argument.dataType == kind ||
        isExact(argument, kind) || producer.bound.signature == target.signature
      if (!isWider) throw refusedState(producer.bound.signature)
      val made = if (argument.dataType == kind) argument else Cast(argument, kind, ansiEnabled = true)
      if (required && made.nullable) NotNull(made, s"writing table ${table.name()}, column $name: an argument of " +
        s"${producer.name} is NULL, but the column is AGG_STATE<${target.declared}>; leave such rows out, or declare " +
        "the argument without NOT NULL") else made
    }
    if (arguments.zip(producer.children).forall { case (one, other) => one eq other } &&
      producer.bound.signature == target.signature) producer
    else producer.copy(children = arguments, bound = producer.bound.retargeted(bound))
  }

  /** Whether an argument is a constant that is the same in this type: 7 is a TINYINT, too. */
  private def isExact(argument: Expression, kind: DataType): Boolean =
    argument.foldable && Cast.canANSIStoreAssign(argument.dataType, kind) && Try {
      val there = Cast(argument, kind, ansiEnabled = true).eval()
      Cast(Literal(there, kind), argument.dataType, ansiEnabled = true).eval() == argument.eval()
    }.getOrElse(false)

  private def refusedState(found: String): Throwable = Refusal(s"writing table ${table.name()}, column $name: " +
    s"a state of $found can't be cast to AGG_STATE<${target.declared}>")

  private def refused(found: String): Throwable = Refusal(s"writing table ${table.name()}, column $name: " +
    s"$found can't be cast to AGG_STATE<${target.declared}>: it is no state; write ${bound.name}_state(…) of the values")
}
