package keyfold.spark.table

import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import keyfold.spark.questions.Predicates
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.NoSuchPartitionException
import org.apache.spark.sql.connector.catalog.SupportsAtomicPartitionManagement
import org.apache.spark.sql.keyfold.{Refusal, SqlTypes}
import org.apache.spark.sql.keyfold.arrow.MetadataRows
import org.apache.spark.sql.types.{LongType, StructType}

/** Driver side: the partitions of a table. A partition is there as long as it has rows: it comes with
  * its first rows and goes with its last, so none can be added or renamed.
  */
trait KeyfoldPartitions extends SupportsAtomicPartitionManagement { this: KeyfoldTable =>

  override def partitionSchema(): StructType = {
    val all = SqlTypes.ofRows(columns())
    StructType(description.partitioning.map(all(_)))
  }

  override def listPartitionIdentifiers(names: Array[String], ident: InternalRow): Array[InternalRow] = {
    val schema = partitionSchema()
    val found = partitions(equalities(names.toSeq, ident))
    found.map(row => InternalRow.fromSeq(schema.fields.toSeq.zipWithIndex.map {
      case (field, place) => row.get(place, field.dataType)
    }))
  }

  /** The figures that SHOW TABLE EXTENDED … PARTITION shows. */
  override def loadPartitionMetadata(ident: InternalRow): JavaMap[String, String] = {
    val at = partitionSchema().length
    val row = partitions(whole(ident)).headOption.getOrElse(throw missing(ident))
    KeyfoldPartitions.Figures.zipWithIndex
      .map { case (name, place) => name -> row.getLong(at + place).toString }.toMap.asJava
  }

  override def dropPartitions(idents: Array[InternalRow]): Boolean =
    questions.ask("drop_partitions", "table" -> description.handle, "partitions" -> idents.toSeq.map(whole))
      .asBoolean

  /** PURGE passes nothing by: the files go with the last snapshot that names them. */
  override def purgePartitions(idents: Array[InternalRow]): Boolean = dropPartitions(idents)
  override def purgePartition(ident: InternalRow): Boolean = dropPartitions(Array(ident))

  override def truncatePartition(ident: InternalRow): Boolean = truncatePartitions(Array(ident))
  override def truncatePartitions(idents: Array[InternalRow]): Boolean = {
    idents.find(!partitionExists(_)).foreach(ident => throw missing(ident))
    dropPartitions(idents)
  }

  override def createPartitions(idents: Array[InternalRow], properties: Array[JavaMap[String, String]]): Unit =
    throw refused("ADD PARTITION", "a partition comes with its first rows: INSERT them")

  override def renamePartition(from: InternalRow, to: InternalRow): Boolean =
    throw refused("PARTITION … RENAME TO", "the values are part of every row's key: INSERT the rows with the new "
      + "values, then DROP PARTITION")

  override def replacePartitionMetadata(ident: InternalRow, properties: JavaMap[String, String]): Unit =
    throw refused("PARTITION … SET", "a partition has no properties and no place of its own")

  private def refused(what: String, reason: String): Refusal =
    Refusal(s"ALTER TABLE ${name()} $what is not supported: $reason")

  private def missing(ident: InternalRow): NoSuchPartitionException =
    new NoSuchPartitionException(name(), ident, partitionSchema())

  private def whole(ident: InternalRow): Seq[JsonNode] = equalities(description.partitioning, ident)

  private def equalities(names: Seq[String], ident: InternalRow): Seq[JsonNode] = {
    val schema = partitionSchema()
    names.zipWithIndex.map { case (name, place) =>
      val dataType = schema(name).dataType
      val literal = Predicates.literal(SqlTypes.literal(ident.get(place, dataType), dataType))
      Json.obj("op" -> "<=>", "args" -> Seq(Json.obj("column" -> Seq(name)), literal))
    }
  }

  /** The values of partitions, then the Figures of each. */
  private def partitions(filters: Seq[JsonNode]): Array[InternalRow] = {
    val schema = KeyfoldPartitions.Figures.foldLeft(partitionSchema())(_.add(_, LongType))
    questions.rows("read_partitions", "table" -> description.handle, "filters" -> filters)(
      MetadataRows.read(_, schema))
  }
}

object KeyfoldPartitions {
  private val Figures = Seq("record_count", "file_size_in_bytes", "file_count")
}
