package org.apache.spark.sql.keyfold.aggregates

import java.io.Serializable

import keyfold.spark.functions.{Aggregation, Declared}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{ImperativeAggregate, TypedImperativeAggregate, V2Aggregator}
import org.apache.spark.sql.connector.catalog.functions.{AggregateFunction, ScalarFunction, UnboundFunction}
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.internal.connector.V1Function
import org.apache.spark.sql.types.{AbstractDataType, DataType, StructField, StructType}

/** Driver side: calls of declared functions as expressions that go by the name that was written, in the names of
  * columns and in errors. Those that Spark makes of a catalog's functions show as `invoke(…)` and `v2aggregator(…)`.
  */
object DeclaredCalls {
  /** The function of a catalog, in Spark's form of one that is given its arguments as expressions. */
  def unbound(name: String, function: Declared): UnboundFunction =
    V1Function(info(name, function), arguments => call(name, function, arguments))

  def info(name: String, function: Declared): ExpressionInfo =
    new ExpressionInfo(function.getClass.getName, null, name, function.description, "", "", "", "", "", "", "scala_udf")

  def call(name: String, function: Declared, arguments: Seq[Expression]): Expression = {
    if (arguments.exists(_.isInstanceOf[NamedArgumentExpression]))
      throw QueryCompilationErrors.namedArgumentsNotSupported(name)
    val types = arguments.map(argument => StructField("argument", argument.dataType, argument.nullable))
    val bound = try function.bind(StructType(types))
    catch {
      case wrong: UnsupportedOperationException =>
        throw QueryCompilationErrors.functionCannotProcessInputError(function, arguments, wrong)
    }
    bound match {
      case scalar: ScalarFunction[_] => DeclaredCall(name, scalar, arguments)
      case aggregate: Aggregation[_, _] => DeclaredAggregate(name, aggregate, arguments)
      case other => throw new MatchError(other)
    }
  }
}

/** Driver side: a scalar function until Spark's optimizer puts its own call in place. */
final case class DeclaredCall(name: String, function: ScalarFunction[_], children: Seq[Expression])
    extends RuntimeReplaceable with ImplicitCastInputTypes {
  override lazy val replacement: Expression = V2ExpressionUtils.resolveScalarFunction(function, children)
  override def inputTypes: Seq[AbstractDataType] = function.inputTypes.toSeq
  override def foldable: Boolean = replacement.foldable
  override def prettyName: String = name
  override protected def flatArguments: Iterator[Any] = children.iterator
  override protected def withNewChildrenInternal(made: IndexedSeq[Expression]): DeclaredCall = copy(children = made)
}

/** Both sides: an aggregate that the JVM computes, unless an operator gives it to Python. */
final case class DeclaredAggregate(
    name: String,
    function: Aggregation[_, _],
    children: Seq[Expression],
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0) extends TypedImperativeAggregate[Serializable] with ImplicitCastInputTypes {
  @transient private lazy val sparks = V2Aggregator(function.asInstanceOf[AggregateFunction[Serializable, Any]], children)

  override def inputTypes: Seq[AbstractDataType] = function.inputTypes.toSeq
  override def dataType: DataType = function.resultType
  override def nullable: Boolean = function.isResultNullable
  override def prettyName: String = name
  override protected def flatArguments: Iterator[Any] = children.iterator

  override def createAggregationBuffer(): Serializable = sparks.createAggregationBuffer()
  override def update(state: Serializable, row: InternalRow): Serializable = sparks.update(state, row)
  override def merge(state: Serializable, other: Serializable): Serializable = sparks.merge(state, other)
  override def eval(state: Serializable): Any = sparks.eval(state)
  override def serialize(state: Serializable): Array[Byte] = sparks.serialize(state)
  override def deserialize(bytes: Array[Byte]): Serializable = sparks.deserialize(bytes)

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildrenInternal(made: IndexedSeq[Expression]): DeclaredAggregate =
    copy(children = made)
}
