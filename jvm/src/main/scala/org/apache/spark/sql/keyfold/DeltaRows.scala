package org.apache.spark.sql.keyfold

import org.apache.spark.sql.catalyst.{InternalRow, ProjectingInternalRow}
import org.apache.spark.sql.catalyst.expressions.JoinedRow
import org.apache.spark.sql.types.{ByteType, StructType}

/** Both sides: the records of a statement that changes rows. They have the columns of the row, those of the
  * metadata, and the kind as Python counts them; a deleted row has only its key.
  */
final case class DeltaRows(rows: StructType, ids: StructType, metadata: StructType) {

  /** What is not there is NULL, whatever the table allows. */
  val schema: StructType =
    StructType(rows.fields ++ metadata.fields.map(field => field.copy(name = DeltaRows.Stored + field.name)))
      .asNullable.add(DeltaRows.Kind, ByteType, nullable = false)

  def maker(): DeltaRows.Maker = new DeltaRows.Maker(this)
}

object DeltaRows {
  val Kind = "_VALUE_KIND"
  private val Stored = "_STORED_"

  /** Behind the columns of a record: NULL, then the kinds, the last that of an updated row with another key. */
  private val Constants = InternalRow(null, 0.toByte, 2.toByte, 3.toByte, 4.toByte)
  private val Inserted = 1
  private val Updated = 2
  private val Deleted = 3
  private val Moved = 4

  /** Makes one record at a time, in place of the one before. */
  final class Maker(of: DeltaRows) {
    private val pair = new JoinedRow
    private val whole = new JoinedRow
    private val keys = of.ids.fieldNames.toIndexedSeq.map(of.rows.fieldIndex)
    private val types = of.ids.fields.map(_.dataType)
    private val noMetadata = new Array[Any](of.metadata.length)
    private val insert = record(of.rows.fields.indices, of.rows.length, Inserted)
    private val update = record(of.rows.fields.indices, of.rows.length, Updated)
    private val move = record(of.rows.fields.indices, of.rows.length, Moved)
    private val delete = record(of.rows.fields.indices.map(keys.indexOf(_)), of.ids.length, Deleted)

    /** A record of `width` columns and the metadata: each of its columns is at a place among those, -1 for NULL. */
    private def record(places: Seq[Int], width: Int, kind: Int): ProjectingInternalRow = {
      val constants = width + of.metadata.length
      val found = places.map(place => if (place < 0) constants else place)
      ProjectingInternalRow(of.schema, (found ++ of.metadata.fields.indices.map(width + _)) :+ (constants + kind))
    }

    private def made(record: ProjectingInternalRow, columns: InternalRow, metadata: InternalRow): InternalRow = {
      val known = if (metadata == null) InternalRow.fromSeq(noMetadata.toSeq) else metadata
      record.project(whole(pair(columns, known), Constants))
      record
    }

    def inserted(row: InternalRow): InternalRow = made(insert, row, null)
    def updated(metadata: InternalRow, row: InternalRow): InternalRow = made(update, row, metadata)
    def moved(metadata: InternalRow, row: InternalRow): InternalRow = made(move, row, metadata)
    def deleted(metadata: InternalRow, id: InternalRow): InternalRow = made(delete, id, metadata)

    /** Whether a row has another key than the one it is written in place of. */
    def isMoved(id: InternalRow, row: InternalRow): Boolean = keys.indices.exists { at =>
      (id.get(at, types(at)), row.get(keys(at), types(at))) match {
        case (one: Array[Byte], other: Array[Byte]) => !java.util.Arrays.equals(one, other)
        case (one, other) => !java.util.Objects.equals(one, other)
      }
    }
  }
}
