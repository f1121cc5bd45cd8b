package org.apache.spark.sql.keyfold.aggregates

import scala.collection.mutable

import keyfold.spark.functions.{Aggregation, Functions, Live}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData, TypeUtils}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Executor side: what is kept of a group's states: their constants and the union of their one field. */
final class Kept(var constants: String, val content: Content) {
  var isBound = false // by a state with content
}

/** Executor side: the union of the fields of states. */
trait Content {
  def isEmpty: Boolean
  def add(row: InternalRow): Unit
  /** What a state has, and what a result is made of. */
  def value: Any
}

/** Executor side: values in the order in which they came; of a set each once. */
final class Bag(element: DataType, isSet: Boolean) extends Content {
  private val items = mutable.ArrayBuffer.empty[Any]
  private val seen = mutable.HashSet.empty[Any]

  override def isEmpty: Boolean = items.isEmpty
  override def value: Any = new GenericArrayData(items.toArray)
  override def add(row: InternalRow): Unit =
    if (!row.isNullAt(0)) row.getArray(0).foreach(element, (_, item) =>
      if (!isSet || seen.add(key(item))) items += InternalRow.copyValue(item))

  private def key(item: Any): Any = item match {
    case bytes: Array[Byte] => UTF8String.fromBytes(bytes)
    case other => InternalRow.copyValue(other)
  }
}

/** Executor side: a sketch, united by an aggregate of keyfold. */
final class Sketch[S <: Live](unite: Aggregation[S, Array[Byte]]) extends Content {
  private var state = unite.empty
  private var isUsed = false

  override def isEmpty: Boolean = !isUsed
  override def value: Any = unite.produce(state)
  override def add(row: InternalRow): Unit = if (!row.isNullAt(0)) {
    state = unite.take(state, row)
    isUsed = true
  }
}

/** Both sides: how such states of a signature are united, and what their result is. */
final case class KeptKind(signature: String, field: DataType, unites: String, finishes: String, dataType: DataType)
    extends Serializable {
  @transient lazy val fields: StructType = StructType(Seq(StructField("f0", field)))
  @transient private lazy val header = StateBytes.header(signature)
  @transient private lazy val variable = StateBytes.variable(fields)
  @transient private lazy val project = UnsafeProjection.create(fields)

  def empty: Kept = new Kept(null, field match {
    case bag: ArrayType => new Bag(bag.elementType, unites == "set")
    case _ => new Sketch(Functions.find(unites).get.asInstanceOf[Aggregation[Live, Array[Byte]]])
  })

  /** Takes in a state; one without content constrains no constants. */
  def add(kept: Kept, bytes: Array[Byte], function: String): Kept = {
    val row = StateBytes.open(bytes, header, variable, function)
    val constants = StateBytes.constants(StateBytes.text(bytes).get)
    val hasContent = !isNothing(row)
    if (kept.constants == null || hasContent && !kept.isBound) kept.constants = constants
    else if (kept.constants != constants && hasContent)
      throw StateBytes.incompatible(function, signature + kept.constants, signature + constants)
    kept.isBound ||= hasContent
    kept.content.add(row)
    kept
  }

  /** Whether a state holds no value. Of the sketches, only those of quantiles have constants. */
  private def isNothing(row: InternalRow): Boolean = row.isNullAt(0) || (field match {
    case _: ArrayType => row.getArray(0).numElements() == 0
    case _ => finishes == "quantile_percent" && row.getBinary(0).length == nothing
  })

  /** No state of values is as short. */
  @transient private lazy val nothing = empty.content.value.asInstanceOf[Array[Byte]].length

  def bytes(kept: Kept): Array[Byte] = {
    val text = signature + Option(kept.constants).getOrElse("")
    StateBytes.of(StateBytes.header(text), project(InternalRow(kept.content.value)))
  }

  def result(kept: Kept): Any = finishes match {
    case "" => kept.content.value
    case _ if kept.content.isEmpty && finishes != "hll_cardinality" && finishes != "bitmap_count" => null
    case "join" => joined(kept.content.value.asInstanceOf[ArrayData], constant(kept, ""))
    case "percentile" => KeptKind.percentile(kept.content.value.asInstanceOf[ArrayData], constant(kept, "0.5").toDouble)
    case "mode" => KeptKind.mode(kept.content.value.asInstanceOf[ArrayData].toObjectArray(dataType).toSeq, dataType)
    case scalar =>
      val sketch = Literal(kept.content.value, BinaryType)
      val rest = if (scalar == "quantile_percent") Seq(Literal(constant(kept, "0.5").toDouble)) else Nil
      BoundState.scalar(scalar, sketch +: rest).eval()
  }

  private def constant(kept: Kept, default: String): String =
    Option(kept.constants).filter(_.nonEmpty).map(_.dropWhile(_ != '=').drop(1)).getOrElse(default)

  private def joined(texts: ArrayData, separator: String): UTF8String =
    UTF8String.concatWs(UTF8String.fromString(separator), texts.toArray[UTF8String](StringType): _*)
}

object KeptKind {
  def of(state: BoundState): KeptKind = {
    val field = state.fields.head.dataType
    val kind = state.finishes match {
      case "join" => StringType
      case "" => field
      case "hll_cardinality" | "bitmap_count" => LongType
      case "mode" => field.asInstanceOf[ArrayType].elementType
      case _ => DoubleType
    }
    KeptKind(state.signature, field, state.unites, state.finishes, kind)
  }

  /** The value that is there most often, of equals the least. */
  private def mode(items: Seq[Any], kind: DataType): Any = {
    val order = TypeUtils.getInterpretedOrdering(kind)
    val runs = items.sorted(order).foldLeft(List.empty[(Any, Int)]) {
      case ((item, count) :: rest, next) if order.equiv(item, next) => (item, count + 1) :: rest
      case (found, next) => (next, 1) :: found
    }
    runs.reverse.maxBy(_._2)._1
  }

  /** As Spark's percentile: linear between the two nearest. */
  private def percentile(numbers: ArrayData, p: Double): Double = {
    val sorted = numbers.toDoubleArray().sortWith(java.lang.Double.compare(_, _) < 0)
    val place = (sorted.length - 1) * p
    val (low, high) = (sorted(math.floor(place).toInt), sorted(math.ceil(place).toInt))
    if (low == high) low else (math.ceil(place) - place) * low + (place - math.floor(place)) * high
  }
}

/** Both sides: the union of a group's states, or their result; NULL is nothing. */
final case class KeptAggregate(child: Expression, kind: KeptKind, shape: Shape,
    mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[Kept] with UnaryLike[Expression] with GivesState {
  override def signature: Option[String] = Option.when(shape.givesState)(shape.signature)
  override def prettyName: String = shape.function
  override protected def flatArguments: Iterator[Any] = children.iterator
  override def nullable: Boolean = !shape.givesState
  override def dataType: DataType = if (shape.givesState) BinaryType else kind.dataType

  override def createAggregationBuffer(): Kept = kind.empty
  override def update(kept: Kept, row: InternalRow): Kept = child.eval(row) match {
    case null => kept
    case bytes => kind.add(kept, bytes.asInstanceOf[Array[Byte]], shape.function)
  }
  override def merge(kept: Kept, other: Kept): Kept = kind.add(kept, kind.bytes(other), shape.function)
  override def eval(kept: Kept): Any = if (shape.givesState) kind.bytes(kept) else kind.result(kept)
  override def serialize(kept: Kept): Array[Byte] = kind.bytes(kept)
  override def deserialize(bytes: Array[Byte]): Kept = kind.add(kind.empty, bytes, shape.function)

  override def withNewMutableAggBufferOffset(offset: Int): KeptAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): KeptAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildInternal(made: Expression): KeptAggregate = copy(child = made)
}

/** Both sides: the result of one state; NULL of a NULL. */
final case class KeptResult(child: Expression, kind: KeptKind, function: String) extends UnaryExpression
    with codegen.CodegenFallback with NonSQLExpression {
  override def dataType: DataType = kind.dataType
  override def nullable: Boolean = true
  override protected def nullSafeEval(bytes: Any): Any =
    kind.result(kind.add(kind.empty, bytes.asInstanceOf[Array[Byte]], function))
  override protected def withNewChildInternal(made: Expression): KeptResult = copy(child = made)
}
