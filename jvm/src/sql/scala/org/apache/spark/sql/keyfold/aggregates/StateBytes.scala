package org.apache.spark.sql.keyfold.aggregates

import java.nio.charset.StandardCharsets.UTF_8

import keyfold.spark.{KeyfoldException, Kinds}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral, GenerateUnsafeProjection}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._

/** Both sides: the bytes of an aggregate's state: "KS", a version, the length and text of its signature, with
  * constants behind a semicolon, then the aggregate's buffer as the bytes of an UnsafeRow.
  */
object StateBytes {
  private val Version: Byte = 1
  private val Fixed = 5

  def header(text: String): Array[Byte] = {
    val name = text.getBytes(UTF_8)
    Array[Byte]('K', 'S', Version, name.length.toByte, (name.length >> 8).toByte) ++ name
  }

  def of(header: Array[Byte], row: UnsafeRow): Array[Byte] = {
    val bytes = java.util.Arrays.copyOf(header, header.length + row.getSizeInBytes)
    row.writeToMemory(bytes, org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET + header.length)
    bytes
  }

  /** The signature and the constants, which begin with a semicolon; None of bytes that are not a state. */
  def text(bytes: Array[Byte]): Option[String] = {
    val isOurs = bytes.length >= Fixed && bytes(0) == 'K' && bytes(1) == 'S' && bytes(2) == Version
    val length = if (isOurs) (bytes(3) & 0xff) | (bytes(4) & 0xff) << 8 else 0
    Option.when(isOurs && Fixed + length <= bytes.length)(new String(bytes, Fixed, length, UTF_8))
  }

  def signature(text: String): String = text.takeWhile(_ != ';')

  /** The buffer of a state, whose header is checked: by bytes, as nearly all have the same. */
  def open(bytes: Array[Byte], header: Array[Byte], fields: Array[Boolean], function: String): UnsafeRow = {
    val start = if (java.util.Arrays.mismatch(header, bytes) == header.length) header.length
      else Fixed + checked(bytes, header, function).getBytes(UTF_8).length
    val row = new UnsafeRow(fields.length)
    val size = bytes.length - start
    row.pointTo(bytes, org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET + start, size & ~7)
    val isWhole = size % 8 == 0 && size >= UnsafeRow.calculateBitSetWidthInBytes(fields.length) + 8 * fields.length
    if (!isWhole || !fields.indices.forall(field => !fields(field) || isInside(row, field, size)))
      throw damaged(function, s"its buffer has $size bytes, which can't be ${fields.length} fields")
    row
  }

  private def isInside(row: UnsafeRow, field: Int, size: Int): Boolean = row.isNullAt(field) || {
    val place = row.getLong(field)
    (place >>> 32) + (place & 0xffffffffL) <= size
  }

  private def checked(bytes: Array[Byte], header: Array[Byte], function: String): String = {
    val wanted = signature(text(header).get)
    val found = text(bytes).getOrElse(throw damaged(function,
      s"found ${bytes.length} bytes, X'${bytes.take(12).map(byte => f"${byte & 0xff}%02X").mkString}…'"))
    if (signature(found) != wanted)
      throw failure(s"$function requires a state of $wanted, but got a state of ${signature(found)}")
    found
  }

  /** Whether a field's bytes lie behind the fixed part. */
  def variable(fields: StructType): Array[Boolean] =
    fields.map(field => !UnsafeRow.isFixedLength(field.dataType)).toArray

  private def damaged(function: String, found: String): Throwable =
    failure(s"$function requires a state of an aggregate, but these bytes are not one: $found")

  private def failure(sentence: String): Throwable = new KeyfoldException(Kinds.Table, sentence)
}

/** Both sides: the state of some fields, which are an aggregate's buffer. */
final case class StateOfFields(header: Array[Byte], children: Seq[Expression]) extends Expression with NonSQLExpression {
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  @transient private lazy val project = UnsafeProjection.create(children)

  override def eval(input: InternalRow): Any = StateBytes.of(header, project(input))

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val row = GenerateUnsafeProjection.createCode(ctx, children)
    val head = ctx.addReferenceObj("header", header, "byte[]")
    val made = code"""${row.code}
      byte[] ${ev.value} = ${StateBytes.getClass.getName.stripSuffix("$")}.of($head, ${row.value});"""
    ev.copy(code = made, isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(made: IndexedSeq[Expression]): StateOfFields = copy(children = made)
  override def equals(other: Any): Boolean = other match {
    case same: StateOfFields => java.util.Arrays.equals(header, same.header) && children == same.children
    case _ => false
  }
  override def hashCode: Int = java.util.Arrays.hashCode(header) * 31 + children.hashCode
}

/** Driver side: the fields of a state as a struct; NULL of a NULL. */
object FieldsOfState {
  def apply(state: Expression, signature: String, fields: StructType, function: String): Expression =
    StaticInvoke(StateBytes.getClass, fields, "open", Seq(state, Literal(StateBytes.header(signature)),
      Literal.fromObject(StateBytes.variable(fields)), Literal.fromObject(function)), returnNullable = state.nullable)
}
