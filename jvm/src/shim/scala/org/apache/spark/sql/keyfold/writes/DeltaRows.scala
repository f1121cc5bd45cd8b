package org.apache.spark.sql.keyfold.writes

import org.apache.spark.sql.catalyst.{InternalRow, ProjectingInternalRow}
import org.apache.spark.sql.catalyst.expressions.JoinedRow
import org.apache.spark.sql.types.{ByteType, StructType}

/** Both sides: the records of a statement that changes rows. They have the columns of the row, the stored values of
  * the `sequences`, and the kind as Python counts them; a deleted row has only its key. `keys` are the columns of the
  * key and their places among those of the id and then the metadata.
  */
final case class DeltaRows(
    rows: StructType, ids: StructType, metadata: StructType, keys: Seq[(String, Int)], sequences: Seq[String]) {

  private def stored = sequences.map(name => metadata(name).copy(name = DeltaRows.Before + name))

  /** The columns of records; each may be NULL, whatever the table allows. */
  val schema: StructType =
    StructType(rows.fields ++ stored).asNullable.add(DeltaRows.Kind, ByteType, nullable = false)

  def maker(): DeltaRows.Maker = new DeltaRows.Maker(this)
}

object DeltaRows {
  val Kind = "_VALUE_KIND"
  private val Before = "_BEFORE_"

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
    private val old = new JoinedRow
    private val keys = of.keys.map { case (name, place) => (place, of.rows.fieldIndex(name)) }.toIndexedSeq
    private val types = keys.map { case (_, place) => of.rows(place).dataType }
    private val noMetadata = new Array[Any](of.metadata.length)
    private val insert = record(of.rows.fields.indices, of.rows.length, Inserted)
    private val update = record(of.rows.fields.indices, of.rows.length, Updated)
    private val move = record(of.rows.fields.indices, of.rows.length, Moved)
    private val delete = record(of.rows.fieldNames.toSeq.map(of.keys.toMap.getOrElse(_, -1)), of.ids.length, Deleted)

    /** A record of `width` columns and the metadata: each of its columns is at a place among those, -1 for NULL. */
    private def record(places: Seq[Int], width: Int, kind: Int): ProjectingInternalRow = {
      val constants = width + of.metadata.length
      val found = places.map(place => if (place < 0) constants else place)
      val stored = of.sequences.map(name => width + of.metadata.fieldIndex(name))
      ProjectingInternalRow(of.schema, (found ++ stored) :+ (constants + kind))
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
    def isMoved(metadata: InternalRow, id: InternalRow, row: InternalRow): Boolean = {
      old(id, metadata): Unit
      keys.indices.exists { at =>
        val (before, after) = keys(at)
        !java.util.Objects.deepEquals(old.get(before, types(at)), row.get(after, types(at)))
      }
    }
  }
}
