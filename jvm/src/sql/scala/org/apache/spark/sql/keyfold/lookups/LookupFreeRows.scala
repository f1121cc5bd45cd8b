package org.apache.spark.sql.keyfold.lookups

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.{FalseLiteral, TrueLiteral}
import org.apache.spark.sql.catalyst.plans.logical.MergeRows
import org.apache.spark.sql.catalyst.plans.logical.MergeRows.{Discard, Instruction, Keep}
import org.apache.spark.sql.catalyst.util.RowDeltaUtils._
import org.apache.spark.sql.keyfold.statements.ChangedRows.unnamed
import org.apache.spark.sql.keyfold.statements.NotNull

/** Driver side: the rows of a MERGE's source that produce the same write whether or not the target has the key, so no
  * look-up is needed: the same row is written, or one is deleted if there is one, or nothing is done. Only what the
  * source decides by itself counts, where the target's key is the source's.
  */
final class LookupFreeRows(rows: MergeRows, join: LookupJoin) {
  import LookupFreeRows._

  private val source = AttributeSet(join.source.output)
  private val table = join.target.scan.table.description
  private val columns = table.columns.map(_.name()).toSet

  def condition: Expression = {
    val found = for {
      (when, matched) <- outcomes(rows.matchedInstructions)
      (other, unmatched) <- outcomes(rows.notMatchedInstructions)
      if isSame(matched, unmatched)
    } yield and(when, other)
    val isAll = found.contains(TrueLiteral) || found.exists(one => found.exists(not(one).semanticEquals(_)))
    if (isAll) TrueLiteral else found.reduceOption(Or(_, _)).getOrElse(FalseLiteral)
  }

  /** The outcomes of a row, each with its condition, as far as the source decides them. */
  private def outcomes(instructions: Seq[Instruction]): Seq[(Expression, Outcome)] = {
    var before: Expression = TrueLiteral
    val conditions = instructions.map(one => ofSource(one.condition)).takeWhile(one => isKnown(one))
    val known = instructions.zip(conditions).map { case (instruction, condition) =>
      val when = and(before, isTrue(condition))
      before = and(before, not(isTrue(condition)))
      (when, outcome(instruction))
    }
    val otherwise = if (known.size == instructions.size) Seq((before, Nothing)) else Nil
    (known ++ otherwise).filter(_._1 != FalseLiteral)
  }

  private def outcome(instruction: Instruction): Outcome = instruction match {
    case keep: Keep =>
      val values = keep.output.map(ofSource)
      (keep.output.headOption.map(unnamed), values.forall(isKnown)) match {
        case (Some(Literal(DELETE_OPERATION, _)), true) => Deleted
        case (Some(Literal(UPDATE_OPERATION | INSERT_OPERATION, _)), true) => written(values)
        case _ => Unknown
      }
    case _: Discard => Nothing
    case _ => Unknown
  }

  /** A row that has the key by which it was looked for. */
  private def written(values: Seq[Expression]): Outcome = {
    val row = rows.output.zip(values).collect { case (column, value) if columns(column.name) => column.name -> value }
    val hasKey = table.primaryKey.zip(join.keys).forall { case (name, key) =>
      row.exists { case (column, value) => column == name && bare(value).semanticEquals(bare(key)) }
    }
    if (hasKey && table.storesAlike) Written(row.map { case (_, value) => bare(value) }) else Unknown
  }

  /** The value with the source's key in place of the target's. */
  private def ofSource(value: Expression): Expression = unnamed(value).transform {
    case attribute: Attribute => join.keyOf(attribute).getOrElse(attribute)
  }

  private def isKnown(value: Expression): Boolean = value.deterministic && value.references.subsetOf(source)
}

object LookupFreeRows {
  private sealed trait Outcome
  private case object Nothing extends Outcome
  private case object Deleted extends Outcome
  private case object Unknown extends Outcome
  private final case class Written(values: Seq[Expression]) extends Outcome

  private def isSame(matched: Outcome, unmatched: Outcome): Boolean = (matched, unmatched) match {
    case (Nothing | Deleted, Nothing) => true
    case (Written(values), Written(others)) =>
      values.size == others.size && values.zip(others).forall { case (one, other) => one.semanticEquals(other) }
    case _ => false
  }

  /** The value without the checks that it is not NULL, which the row of a key passes. */
  private def bare(value: Expression): Expression = value match {
    case checked: objects.AssertNotNull => bare(checked.child)
    case checked: NotNull => bare(checked.child)
    case other => other
  }

  /** Conditions from here on are never NULL. */
  private def isTrue(condition: Expression): Expression =
    if (condition.nullable) Coalesce(Seq(condition, FalseLiteral)) else condition

  private def and(one: Expression, other: Expression): Expression = (one, other) match {
    case (TrueLiteral, any) => any
    case (any, TrueLiteral) => any
    case (FalseLiteral, _) | (_, FalseLiteral) => FalseLiteral
    case _ if one.semanticEquals(other) => one
    case _ => And(one, other)
  }

  private def not(condition: Expression): Expression = condition match {
    case TrueLiteral => FalseLiteral
    case FalseLiteral => TrueLiteral
    case Not(inner) => inner
    case other => Not(other)
  }
}
