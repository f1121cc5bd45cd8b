package org.apache.spark.sql.keyfold.groups

import keyfold.spark.Json
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral, GenerateUnsafeProjection}
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.types._

/** Both sides: writes keys and arguments of each row to a worker, in the loop that Spark generates for the operators
  * below. Its own rows are few: the first hands over the sink, others say that groups are to be taken away. A column that is
  * packed has the values of some expressions, any other that of one.
  */
final case class FoldRowsExec(columns: Seq[Seq[Expression]], forms: Seq[SharedColumn], question: String, child: SparkPlan)
    extends UnaryExecNode with CodegenSupport {
  override val output: Seq[Attribute] = Seq(AttributeReference("sink", NullType)(), AttributeReference("none", NullType)())
  override def producedAttributes: AttributeSet = outputSet
  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs()

  /** Makes the sink of each task. */
  private def maker: () => RowSink = {
    val (own, asked) = (forms.toIndexedSeq, question)
    val areNullable = columns.zip(own).map { case (of, form) => !form.isPacked && of.exists(_.nullable) }.toIndexedSeq
    () => new RowSink(own, areNullable, Json.parse(asked))
  }

  private var sink: String = _

  override protected def doProduce(ctx: CodegenContext): String = {
    val (making, made) = (ctx.addReferenceObj("maker", maker, "scala.Function0"), classOf[RowSink].getName)
    sink = ctx.addMutableState(made, "sink", name => s"$name = ($made) $making.apply();", forceInline = true)
    val isKnown = ctx.addMutableState("boolean", "isSinkKnown")
    s"""
       |if (!$isKnown) {
       |  $isKnown = true;
       |  append($sink.marker());
       |  return;
       |}
       |${child.asInstanceOf[CodegenSupport].produce(ctx, this)}
     """.stripMargin
  }

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    ctx.currentVars = input
    ctx.INPUT_ROW = null
    val made = columns.zip(forms).map { case (of, form) =>
      val bound = bindReferences(of, child.output)
      if (form.isPacked) GenerateUnsafeProjection.createCode(ctx, bound) else bound.head.genCode(ctx)
    }
    val puts = made.indices.map(column => put(column, made(column), columns(column).head.dataType))
    s"""
       |${made.map(_.code).reduce(_ + _)}
       |if (!$sink.isOpen()) $sink.open();
       |do {
       |  ${puts.mkString("\n  ")}
       |} while (!$sink.done());
       |if ($sink.isFull()) append($sink.marker());
     """.stripMargin
  }

  private def put(column: Int, made: ExprCode, kind: DataType): String = {
    val form = forms(column)
    val call = if (form.isPacked) s"$sink.putRow($column, ${made.value});" else kind match {
      case BooleanType => s"$sink.putByte($column, (byte) (${made.value} ? 1 : 0));"
      case FloatType => s"$sink.putFloat($column, ${made.value});"
      case DoubleType => s"$sink.putDouble($column, ${made.value});"
      case _: DecimalType => s"$sink.putLong($column, ${made.value}.toUnscaledLong());"
      case _: StringType => s"$sink.putText($column, ${made.value});"
      case BinaryType => s"$sink.putBytes($column, ${made.value});"
      case _ => s"$sink.put${FoldRowsExec.Words(form.width)}($column, ${made.value});"
    }
    if (form.isPacked || made.isNull == FalseLiteral) call
    else s"if (${made.isNull}) $sink.putNull($column); else $call"
  }

  /** Sends rows without generated code. */
  override protected def doExecute(): RDD[InternalRow] = {
    val (making, shapes, below) = (maker, forms, child.output)
    child.execute().mapPartitionsInternal { rows =>
      val sink = making()
      val made = columns.map(of => UnsafeProjection.create(of, below))
      Iterator(sink.marker) ++ rows.flatMap { row =>
        if (!sink.isOpen) sink.open()
        do made.indices.foreach(column => FoldRowsExec.put(sink, column, shapes(column), made(column)(row)))
        while (!sink.done())
        if (sink.isFull) Iterator(sink.marker) else Iterator.empty
      }
    }
  }

  override protected def withNewChildInternal(changed: SparkPlan): FoldRowsExec = copy(child = changed)
}

object FoldRowsExec {
  private val Words = Map(1 -> "Byte", 2 -> "Short", 4 -> "Int", 8 -> "Long")

  private def put(sink: RowSink, column: Int, form: SharedColumn, row: UnsafeRow): Unit =
    if (form.isPacked) sink.putRow(column, row)
    else if (row.isNullAt(0)) sink.putNull(column)
    else form.width match {
      case 1 => sink.putByte(column, row.getByte(0))
      case 2 => sink.putShort(column, row.getShort(0))
      case 4 => sink.putInt(column, row.getInt(0))
      case 8 => sink.putLong(column, row.getLong(0))
      case _ => sink.putBytes(column, row.getBinary(0))
    }
}
