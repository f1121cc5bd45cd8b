package keyfold.spark.functions

import java.io.IOException
import java.util.HexFormat

import scala.annotation.tailrec

import keyfold.spark.KeyfoldException
import org.roaringbitmap.longlong.Roaring64Bitmap

/** Executor side: bytes of any of the three forms as a live bitmap. The first bytes of one form can be
  * those of another (a portable 64-bit set of one map begins with 01 as Java's does), so a form counts
  * only where the bytes hold it from their first to their last.
  */
object BitmapBytes {
  private type Form = (String, Cursor => Bitmap)
  private val Narrow: Form = "the portable 32-bit form" -> (cursor => Bitmap.narrow(Portable.read32(cursor)))
  private val Java: Form = "Java's Roaring64Bitmap" -> (cursor => wide(Java64.read(cursor)))
  private val Wide: Form = "the portable 64-bit form" -> (cursor => wide(Portable.read64(cursor)))
  private val ShownBytes = 16

  /** The bitmap; a CorruptDataError that names the function if the bytes hold none of the forms. */
  def read(bytes: Array[Byte], function: String): Bitmap = {
    val forms = if (bytes.length < 2) Seq(Java)
    else if ((bytes(0) == 0x3a || bytes(0) == 0x3b) && bytes(1) == 0x30) Seq(Narrow, Wide)
    else Seq(Java, Wide)
    attempt(bytes, forms, Nil, function)
  }

  @tailrec
  private def attempt(bytes: Array[Byte], forms: Seq[Form], reasons: Seq[String], function: String): Bitmap = {
    val (name, form) = forms.head
    val read = try Right(whole(bytes, form))
    catch {
      // The library has exceptions of its own, among them EOFException without a message.
      case bad @ (_: RuntimeException | _: IOException) =>
        Left(s"$name: ${Option(bad.getMessage).getOrElse("it ends too soon")}")
    }
    read match {
      case Right(bitmap) => bitmap
      case Left(reason) if forms.tail.isEmpty =>
        throw bad(function, bytes, "not a bitmap", (reasons :+ reason).mkString("; "))
      case Left(reason) => attempt(bytes, forms.tail, reasons :+ reason, function)
    }
  }

  def bad(function: String, bytes: Array[Byte], what: String, why: String): KeyfoldException = {
    val shown = HexFormat.of.formatHex(bytes, 0, Math.min(bytes.length, ShownBytes))
    val more = if (bytes.length > ShownBytes) "…" else ""
    new KeyfoldException("CorruptDataError", s"function $function: $what: ${bytes.length} bytes X'$shown$more' ($why)")
  }

  private def whole(bytes: Array[Byte], form: Cursor => Bitmap): Bitmap = {
    val cursor = new Cursor(bytes)
    val bitmap = form(cursor)
    cursor.end()
    bitmap
  }

  private def wide(bitmap: Roaring64Bitmap): Bitmap = Bitmap.wide(bitmap)
}
