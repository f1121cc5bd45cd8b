package keyfold.integration

import java.math.{BigDecimal => JavaDecimal}
import java.util.{Base64, HashMap, LinkedHashMap}

import scala.io.{Codec, Source}
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.paimon.catalog.CatalogContext
import org.apache.paimon.crosspartition.{GlobalIndexAssigner, IndexBootstrap}
import org.apache.paimon.data._
import org.apache.paimon.disk.IOManager
import org.apache.paimon.fs.Path
import org.apache.paimon.fs.local.LocalFileIO
import org.apache.paimon.index.HashBucketAssigner
import org.apache.paimon.options.Options
import org.apache.paimon.predicate.{Predicate, PredicateBuilder}
import org.apache.paimon.reader.RecordReader
import org.apache.paimon.schema.{Schema, SchemaChange, SchemaManager}
import org.apache.paimon.table.{BucketMode, FileStoreTable, FileStoreTableFactory}
import org.apache.paimon.table.sink.{BatchTableWrite, RowPartitionKeyExtractor}
import org.apache.paimon.table.source.DataSplit
import org.apache.paimon.types._
import org.apache.paimon.types.DataTypeRoot._
import org.apache.paimon.utils.{HllSketchUtil, JsonSerdeUtil, RoaringBitmap32, RoaringBitmap64, ThetaSketch}

/** Paimon's own Java library behind a pipe: a request in JSON a line of stdin, an answer a line of
  * stdout. It holds none of keyfold's code; integration/paimon/library.py compiles, starts and asks it.
  */
object PaimonJava {
  private val json = new ObjectMapper()

  def main(arguments: Array[String]): Unit = {
    val scratch = IOManager.create(arguments(0))
    val answers = System.out
    System.setOut(System.err) // what a library prints is no answer
    Source.fromInputStream(System.in)(Codec.UTF8).getLines().foreach { line =>
      val answer =
        try ask(json.readTree(line), scratch)
        catch { case NonFatal(error) => json.createObjectNode().put("error", words(error)) }
      answers.println(json.writeValueAsString(answer))
      answers.flush()
    }
    scratch.close()
  }

  private def words(error: Throwable): String =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).map(_.toString).mkString("\n  by ")

  private def ask(request: JsonNode, scratch: IOManager): ObjectNode =
    request.get("do").asText match {
      case "create" =>
        schemas(request).createTable(parsed(request.get("schema"), classOf[Schema]))
        json.createObjectNode()
      case "alter" =>
        val changes = request.get("changes").elements.asScala.toSeq
        schemas(request).commitChanges(changes.map(parsed(_, classOf[SchemaChange])).asJava)
        json.createObjectNode()
      case other => ask(other, request, open(request), scratch)
    }

  private def ask(
      what: String,
      request: JsonNode,
      table: FileStoreTable,
      scratch: IOManager
  ): ObjectNode =
    what match {
      case "read" => read(table, scratch, request.path("equal"))
      case "changes" => changes(table, scratch)
      case "write" =>
        val kinds = table.rowType.getFieldTypes.asScala.toSeq
        val rows = request.get("rows").elements.asScala.map(Cells.row(_, kinds))
        changed(table, scratch, request.path("overwrite").asBoolean) { writer =>
          table.bucketMode match {
            case BucketMode.HASH_DYNAMIC =>
              val assigned = assigner(table)
              rows.foreach(row => writer.write(row, assigned(row)))
            case BucketMode.KEY_DYNAMIC => acrossPartitions(table, scratch, writer, rows)
            case _ => rows.foreach(writer.write(_))
          }
        }
      case "statistics" =>
        val found = table.statistics.get // with values, which it makes of their texts
        json.createObjectNode().set[ObjectNode]("statistics", json.readTree(found.toJson))
      case "compact" =>
        if (table.bucketMode == BucketMode.POSTPONE_MODE) PaimonPostponed.compact(table, scratch)
        val buckets = splits(table).map(split => (split.partition, split.bucket)).distinct
        val isFull = request.get("full").asBoolean
        if (table.bucketMode == BucketMode.POSTPONE_MODE) json.createObjectNode()
        else changed(table, scratch) { writer =>
          buckets.foreach { case (partition, bucket) => writer.compact(partition, bucket, isFull) }
        }
      case "expire" =>
        val gone = Option(table.store.newPartitionExpire("expire", table).expire(Long.MaxValue))
        val answer = json.createObjectNode()
        val names = answer.putArray("partitions")
        gone.foreach(_.forEach(one => names.add(one.toString)))
        answer
      case "history" =>
        val name = request.get("name").asText
        request.get("what").asText match {
          case "create_tag" => table.createTag(name, request.get("at").asLong)
          case "create_branch" => table.createBranch(name, request.get("at").asText)
          case "rollback" => table.rollbackTo(name)
          case "fast_forward" => table.fastForward(name)
        }
        json.createObjectNode()
      case _ => PaimonBench.ask(request, table, scratch)
    }

  /** The bucket of a row of a table with dynamic buckets, as one task of Paimon's assigns it. */
  private def assigner(table: FileStoreTable): GenericRow => Int = {
    lazy val options = table.coreOptions
    lazy val found = new HashBucketAssigner(table.snapshotManager, "turns", table.store.newIndexFileHandler,
      1, 1, 0, options.dynamicBucketTargetRowNum, options.dynamicBucketMaxBuckets)
    val keys = new RowPartitionKeyExtractor(table.schema)
    row => found.assign(keys.partition(row), keys.trimmedPrimaryKey(row).hashCode)
  }

  /** Writes rows whose keys are one across partitions, as one task of Paimon's does. */
  private def acrossPartitions(
      table: FileStoreTable,
      scratch: IOManager,
      writer: BatchTableWrite,
      rows: Iterator[GenericRow]
  ): Unit = {
    val index = new GlobalIndexAssigner(table)
    try {
      index.open(16L << 20, scratch, 1, 0, (row, bucket) => writer.write(row, bucket))
      new IndexBootstrap(table).bootstrap(1, 0, row => index.bootstrapKey(row))
      index.endBoostrap(false)
      rows.foreach(index.processInput(_))
    } finally index.close()
  }

  private def schemas(request: JsonNode): SchemaManager =
    new SchemaManager(LocalFileIO.create(), new Path(request.get("table").asText))

  private def parsed[T](node: JsonNode, kind: Class[T]): T =
    JsonSerdeUtil.fromJson(json.writeValueAsString(node), kind)

  private def open(request: JsonNode): FileStoreTable = {
    val options = new Options()
    options.set("path", request.get("table").asText)
    val dynamic = new HashMap[String, String]()
    request.get("options").properties.asScala.foreach(o => dynamic.put(o.getKey, o.getValue.asText))
    val branch = Option(dynamic.remove("branch"))
    val table = FileStoreTableFactory.create(CatalogContext.create(options)).copy(dynamic)
    branch.fold(table)(table.switchToBranch)
  }

  private def splits(table: FileStoreTable): Seq[DataSplit] =
    table.newReadBuilder.newScan.plan.splits.asScala.toSeq.collect { case split: DataSplit => split }

  /** What a stream from snapshot 1 reads: rows that begin with the snapshot and the kind. */
  private def changes(table: FileStoreTable, scratch: IOManager): ObjectNode = {
    val answer = json.createObjectNode()
    val rows = answer.putArray("rows")
    val builder = table.newReadBuilder
    val scan = builder.newStreamScan
    val last = table.snapshotManager.latestSnapshotId
    scan.restore(1L)
    while (scan.checkpoint <= last) {
      val plan = scan.plan // of the next snapshot that has changes
      val snapshot = scan.checkpoint - 1
      add(table, builder.newRead.withIOManager(scratch).createReader(plan), rows) { row =>
        rows.addArray().add(snapshot).add(row.getRowKind.shortString)
      }
    }
    answer
  }

  private def add(table: FileStoreTable, reader: RecordReader[InternalRow], rows: ArrayNode)(
      cells: InternalRow => ArrayNode
  ): Unit = {
    val kinds = table.rowType.getFieldTypes.asScala.toSeq
    val getters = kinds.zipWithIndex.map { case (k, i) => InternalRow.createFieldGetter(k, i) }
    try
      reader.forEachRemaining { row =>
        val made = cells(row)
        getters.zip(kinds).foreach { case (getter, kind) =>
          made.add(Cells.tree(getter.getFieldOrNull(row), kind))
        }
      }
    finally reader.close()
  }

  /** The condition that a column has a value, the cell of a row of it alone. */
  private def equality(table: FileStoreTable, equal: JsonNode): Predicate = {
    val at = table.rowType.getFieldIndex(equal.get("column").asText)
    val cells = Cells.row(equal.get("row"), Seq(table.rowType.getTypeAt(at)))
    new PredicateBuilder(table.rowType).equal(at, cells.getField(0))
  }

  private def read(table: FileStoreTable, scratch: IOManager, equal: JsonNode): ObjectNode = {
    val found = splits(table)
    val answer = json.createObjectNode()
    val rows = answer.putArray("rows")
    val every = table.newReadBuilder
    val builder = if (equal.isMissingNode) every else every.withFilter(equality(table, equal))
    val reader = builder.newRead.withIOManager(scratch).createReader(builder.newScan.plan)
    add(table, reader, rows)(_ => rows.addArray())
    val names = answer.putArray("names")
    table.rowType.getFieldNames.forEach(name => { names.add(name); () })
    val levels = answer.putArray("levels")
    found.flatMap(_.dataFiles.asScala.map(_.level)).sorted.foreach(levels.add)
    answer
  }

  private def changed(table: FileStoreTable, scratch: IOManager, isOverwrite: Boolean = false)(
      body: BatchTableWrite => Unit
  ): ObjectNode = {
    val builder = table.newBatchWriteBuilder
    if (isOverwrite) builder.withOverwrite(): Unit
    val writer = builder.newWrite.withIOManager(scratch)
    val commit = builder.newCommit
    try {
      body(writer)
      commit.commit(writer.prepareCommit)
    } finally {
      writer.close()
      commit.close()
    }
    json.createObjectNode().put("snapshot", table.snapshotManager.latestSnapshotId)
  }
}

/** Paimon's values as JSON: floats, decimals as text, dates as days, times of day as milliseconds,
  * timestamps as microseconds, bytes in base64, maps as pairs.
  */
object Cells {
  private val json = new ObjectMapper()

  def tree(value: Any, kind: DataType): JsonNode = value match {
    case null => json.nullNode
    case items: InternalArray =>
      val elements = kind.asInstanceOf[ArrayType].getElementType
      array(listed(items, elements).map(tree(_, elements)))
    case pairs: InternalMap =>
      val map = kind.asInstanceOf[MapType]
      val keys = listed(pairs.keyArray, map.getKeyType).map(tree(_, map.getKeyType))
      val values = listed(pairs.valueArray, map.getValueType).map(tree(_, map.getValueType))
      array(keys.zip(values).map { case (key, value) => array(Seq(key, value)) })
    case fields: InternalRow =>
      array(kind.asInstanceOf[RowType].getFieldTypes.asScala.toSeq.zipWithIndex.map {
        case (k, i) => tree(InternalRow.createFieldGetter(k, i).getFieldOrNull(fields), k)
      })
    case bytes: Array[Byte] => json.getNodeFactory.textNode(Base64.getEncoder.encodeToString(bytes))
    case number: Decimal => json.getNodeFactory.textNode(number.toBigDecimal.toPlainString)
    case time: Timestamp => json.getNodeFactory.numberNode(time.toMicros)
    case text: BinaryString => json.getNodeFactory.textNode(text.toString)
    case number: Float => json.getNodeFactory.textNode(number.toString)
    case number: Double => json.getNodeFactory.textNode(number.toString)
    case other => json.valueToTree[JsonNode](other)
  }

  private def listed(items: InternalArray, kind: DataType): Seq[Any] = {
    val getter = InternalArray.createElementGetter(kind)
    (0 until items.size).map(getter.getElementOrNull(items, _))
  }

  private def array(items: Seq[JsonNode]): ArrayNode = json.createArrayNode().addAll(items.asJava)

  /** A row to write: its kind, then a cell per column. */
  def row(node: JsonNode, kinds: Seq[DataType]): GenericRow = {
    val made = new GenericRow(RowKind.fromShortString(node.get(0).asText), kinds.size)
    kinds.zipWithIndex.foreach { case (k, i) => made.setField(i, value(node.get(i + 1), k)) }
    made
  }

  private def value(node: JsonNode, kind: DataType): Any =
    if (node.isNull) null
    else
      kind.getTypeRoot match {
        case BOOLEAN => node.asBoolean
        case TINYINT => node.asInt.toByte
        case SMALLINT => node.asInt.toShort
        case INTEGER | DATE | TIME_WITHOUT_TIME_ZONE => node.asInt
        case BIGINT => node.asLong
        case FLOAT => node.asText.toFloat
        case DOUBLE => node.asText.toDouble
        case CHAR | VARCHAR => BinaryString.fromString(node.asText)
        case BINARY | VARBINARY => bytes(node)
        case TIMESTAMP_WITHOUT_TIME_ZONE | TIMESTAMP_WITH_LOCAL_TIME_ZONE =>
          if (node.isArray) Timestamp.fromEpochMillis(node.get(0).asLong, node.get(1).asInt)
          else Timestamp.fromMicros(node.asLong)
        case DECIMAL =>
          val decimal = kind.asInstanceOf[DecimalType]
          val number = new JavaDecimal(node.asText)
          Decimal.fromBigDecimal(number, decimal.getPrecision, decimal.getScale)
        case ARRAY =>
          val elements = kind.asInstanceOf[ArrayType].getElementType
          new GenericArray(node.elements.asScala.map(boxed(_, elements)).toArray)
        case MAP =>
          val map = kind.asInstanceOf[MapType]
          val pairs = new LinkedHashMap[AnyRef, AnyRef]()
          node.elements.asScala.foreach { pair =>
            pairs.put(boxed(pair.get(0), map.getKeyType), boxed(pair.get(1), map.getValueType))
          }
          new GenericMap(pairs)
        case ROW =>
          val fields = kind.asInstanceOf[RowType].getFieldTypes.asScala
          val cells = node.elements.asScala.zip(fields).map { case (cell, k) => boxed(cell, k) }
          GenericRow.of(cells.toSeq: _*)
        case other => throw new IllegalArgumentException(s"no value of type $other can be written")
      }

  private def boxed(node: JsonNode, kind: DataType): AnyRef = value(node, kind).asInstanceOf[AnyRef]

  /** Bytes in base64, or what Paimon's own classes make of numbers, as in {"rbm32": [1, 2]}. */
  private def bytes(node: JsonNode): Array[Byte] =
    if (node.isTextual) Base64.getDecoder.decode(node.asText)
    else {
      val property = node.properties.iterator.next()
      val numbers = property.getValue.elements.asScala.map(_.asLong).toArray
      property.getKey match {
        case "rbm32" => RoaringBitmap32.bitmapOf(numbers.map(_.toInt): _*).serialize
        case "rbm64" => RoaringBitmap64.bitmapOf(numbers: _*).serialize
        case "hll_sketch" => HllSketchUtil.sketchOf(numbers.map(_.toInt): _*)
        case "theta_sketch" => ThetaSketch.sketchOf(numbers.map(_.toInt): _*)
      }
    }
}
