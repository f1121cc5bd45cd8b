package keyfold.integration

import java.util.{HashMap, Map, Set}

import scala.jdk.CollectionConverters._

import org.apache.paimon.catalog.CatalogContext
import org.apache.paimon.data.{InternalRow => Row}
import org.apache.paimon.disk.IOManager
import org.apache.paimon.options.Options
import org.apache.paimon.table.FileStoreTableFactory
import org.apache.paimon.table.source.{DataSplit, ReadBuilder}
import org.apache.paimon.types.DataTypeRoot
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types._

/** Paimon's Java reader behind Spark, for the bench: `path` is a table's folder, `scratch` one for
  * spills, every other option one of the table's. As in Paimon's own connector a split is a
  * partition, and a row stays Paimon's until Spark asks for a cell.
  */
final class PaimonSource extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    PaimonSource.table(options).schema

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: Map[String, String]
  ): Table = PaimonSource.table(properties)
}

object PaimonSource {
  private val Ours = Seq("path", "scratch")

  def table(stated: Map[String, String]): PaimonSparkTable = {
    val options = new Options()
    options.set("path", stated.get("path"))
    val dynamic = new HashMap[String, String](stated)
    Ours.foreach(dynamic.remove)
    val opened = FileStoreTableFactory.create(CatalogContext.create(options)).copy(dynamic)
    val fields = opened.rowType.getFields.asScala.toSeq.map { field =>
      StructField(field.name, kind(field.`type`.getTypeRoot), field.`type`.isNullable)
    }
    new PaimonSparkTable(stated.get("path"), StructType(fields), opened.newReadBuilder, stated.get("scratch"))
  }

  private def kind(root: DataTypeRoot): DataType = root match {
    case DataTypeRoot.BIGINT => LongType
    case DataTypeRoot.INTEGER => IntegerType
    case DataTypeRoot.DOUBLE => DoubleType
    case DataTypeRoot.VARCHAR => StringType
    case other => throw new IllegalArgumentException(s"the bench has no columns of type $other")
  }
}

final class PaimonSparkTable(
    override val name: String,
    override val schema: StructType,
    builder: ReadBuilder,
    scratch: String
) extends Table with SupportsRead {
  override def capabilities: Set[TableCapability] = Set.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new PaimonScan(schema, builder, scratch)
}

final class PaimonScan(schema: StructType, builder: ReadBuilder, scratch: String)
    extends Scan with Batch {
  override def readSchema: StructType = schema
  override def toBatch: Batch = this

  override def planInputPartitions: Array[InputPartition] =
    builder.newScan.plan.splits.asScala.collect { case split: DataSplit => PaimonPartition(split) }.toArray

  override def createReaderFactory: PartitionReaderFactory = new PaimonReaders(builder, scratch, schema)
}

final case class PaimonPartition(split: DataSplit) extends InputPartition

final class PaimonReaders(builder: ReadBuilder, scratch: String, schema: StructType)
    extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case PaimonPartition(split) => new PaimonReader(builder, scratch, schema, split)
    case other => throw new IllegalArgumentException(s"no partition of Paimon's: $other")
  }
}

final class PaimonReader(builder: ReadBuilder, scratch: String, schema: StructType, split: DataSplit)
    extends PartitionReader[InternalRow] {
  private val spills = IOManager.create(scratch)
  private val rows = builder.newRead.withIOManager(spills).createReader(split).toCloseableIterator
  private val shown = new PaimonRow(schema)

  override def next: Boolean = rows.hasNext && { shown.row = rows.next; true }
  override def get: InternalRow = shown

  override def close(): Unit =
    try rows.close()
    finally spills.close()
}

/** A row of Paimon's as Spark sees it. Getters of types that the bench lacks are Spark's: 4.3 has two more than 4.2. */
final class PaimonRow(schema: StructType) extends BaseGenericInternalRow {
  var row: Row = _

  override def numFields: Int = schema.length
  override def isNullAt(i: Int): Boolean = row.isNullAt(i)
  override def getLong(i: Int): Long = row.getLong(i)
  override def getInt(i: Int): Int = row.getInt(i)
  override def getDouble(i: Int): Double = row.getDouble(i)
  override def getUTF8String(i: Int): UTF8String = UTF8String.fromBytes(row.getString(i).toBytes)

  override protected def genericGet(i: Int): Any =
    if (isNullAt(i)) null
    else
      schema(i).dataType match {
        case LongType => Long.box(getLong(i))
        case IntegerType => Int.box(getInt(i))
        case DoubleType => Double.box(getDouble(i))
        case StringType => getUTF8String(i)
        case other => none(other)
      }

  override def setNullAt(i: Int): Unit = none("writable")
  override def update(i: Int, value: Any): Unit = none("writable")

  private def none(what: Any): Nothing =
    throw new UnsupportedOperationException(s"the bench has no $what column")
}
