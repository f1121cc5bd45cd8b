package keyfold.spark.procedures

import java.util.{Iterator => JavaIterator, List => JavaList}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldCatalog}
import keyfold.spark.jobs.PythonJob
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{GenericArrayData, MapData}
import org.apache.spark.sql.connector.catalog.procedures.{BoundProcedure, ProcedureParameter, UnboundProcedure}
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.keyfold.{Ours, Refusal}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Driver side: one procedure about one table, its first argument: parameters, the columns of its result, and
  * what it does. Rows are JSON objects by column name.
  */
abstract class KeyfoldProcedure(override val name: String, purpose: String, catalog: KeyfoldCatalog)
    extends UnboundProcedure {

  /** The parameters after `table`; all may be left out. The type of OPTIONS is NULL: a map, or a text. */
  protected def optional: Seq[(String, DataType, String)]
  protected def result: StructType
  protected def call(table: KeyfoldTable, arguments: Arguments): Seq[JsonNode]

  /** With the parameters, which DESCRIBE shows of a SimpleProcedure alone: that is bound from the start, and
    * Spark 4.2 then refuses arguments that it resolves a round later, as `current_timestamp() - …`.
    */
  override def description(): String = {
    val shown = declared(StringType).map(parameter => s"${parameter.name} ${parameter.dataType.sql}")
    s"$purpose (${shown.mkString(", ")})"
  }

  /** `options` are a map where an argument is one, else a text. */
  override final def bind(input: StructType): BoundProcedure =
    new Bound(declared(input.fields.map(_.dataType).collectFirst { case map: MapType => map }.getOrElse(StringType)))

  private final class Bound(override val parameters: Array[ProcedureParameter]) extends BoundProcedure {
    override def name(): String = KeyfoldProcedure.this.name
    override def description(): String = KeyfoldProcedure.this.description
    override def isDeterministic: Boolean = false
    override def call(input: InternalRow): JavaIterator[Scan] = KeyfoldProcedure.this.call(parameters.toSeq, input)
  }

  private def declared(options: DataType): Array[ProcedureParameter] = {
    val table = ProcedureParameter.in("table", StringType).comment("the table, as 'namespace.table'").build()
    val others = optional.map { case (name, dataType, comment) =>
      val asked = if (dataType == NullType) options else dataType
      ProcedureParameter.in(name, asked).defaultValue("NULL").comment(comment).build()
    }
    (table +: others).toArray
  }

  private def call(parameters: Seq[ProcedureParameter], input: InternalRow): JavaIterator[Scan] = {
    val arguments = new Arguments(name, parameters, input)
    val named = arguments.text("table").getOrElse(throw Refusal(s"$name: table is NULL or empty"))
    JavaList.of[Scan](ProcedureResult(result, call(table(named), arguments))).iterator
  }

  private def table(named: String): KeyfoldTable = catalog.loadTable(Ours.identifier(catalog, named)) match {
    case table: KeyfoldTable => table
    case other => throw Refusal(s"$name: ${other.name()} is not a table with files of its own")
  }
}

/** Driver side: one that Python declares, and does. */
final class DeclaredProcedure(declared: JsonNode, catalog: KeyfoldCatalog)
    extends KeyfoldProcedure(declared.get("name").asText, declared.get("purpose").asText, catalog) {

  override protected val optional: Seq[(String, DataType, String)] =
    Json.items(declared.get("parameters")).map { one =>
      val named = one.get("type").asText
      (one.get("name").asText, if (named == "OPTIONS") NullType else DataType.fromDDL(named), one.get("doc").asText)
    }

  override protected val result: StructType = StructType(Json.items(declared.get("result")).map(column =>
    StructField(column.get("name").asText, DataType.fromDDL(column.get("type").asText))))

  override protected def call(table: KeyfoldTable, arguments: Arguments): Seq[JsonNode] =
    Json.items(PythonJob.run(table, "call_procedure", declared.get("again").asBoolean, "procedure" -> name,
      "arguments" -> arguments.all))
}

/** Driver side: a procedure that does not exist, and says which do. */
final class NoProcedure(override val name: String, known: String) extends UnboundProcedure {
  override def description(): String = s"there is no procedure $name: $known"
  override def bind(input: StructType): BoundProcedure = throw Refusal(description())
}

/** Driver side: the arguments of a call by name; None for NULL. */
final class Arguments(procedure: String, parameters: Seq[ProcedureParameter], row: InternalRow) {
  private val places = parameters.map(_.name).zipWithIndex.toMap

  def text(name: String): Option[String] = of(name)(row.getUTF8String(_).toString).filter(_.nonEmpty)
  def int(name: String): Option[Int] = of(name)(row.getInt)
  def long(name: String): Option[Long] = of(name)(row.getLong)
  def chosen(name: String): Option[Boolean] = of(name)(row.getBoolean)
  def flag(name: String): Boolean = chosen(name).getOrElse(false)

  /** All but the table, as Python takes them: a TIMESTAMP in milliseconds, a text only if it is not empty. */
  def all: Map[String, Any] = parameters.tail.map { parameter =>
    val name = parameter.name
    name -> (parameter.dataType match {
      case IntegerType => int(name)
      case LongType => long(name)
      case BooleanType => chosen(name)
      case TimestampType => of(name)(row.getLong).map(Math.floorDiv(_, 1000L))
      case map: MapType => of(name)(row.getMap).map(texts(map, _))
      case _ => text(name)
    })
  }.toMap

  /** `options`, of a map or of text as 'name=value,name=value'. */
  def options: Map[String, String] = all("options") match {
    case Some(map: Map[_, _]) => map.map { case (name, value) => name.toString -> value.toString }
    case Some(text: String) => text.split(",").map(_.trim).filter(_.nonEmpty).map(pair).toMap
    case _ => Map.empty
  }

  private def pair(text: String): (String, String) = text.split("=", 2) match {
    case Array(name, value) => name.trim -> value.trim
    case _ => throw Refusal(s"$procedure: options holds '$text'; expected name=value, more of them after "
        + "commas, or a map")
  }

  private def texts(kind: MapType, map: MapData): Map[String, String] = (0 until map.numElements()).map { i =>
    map.keyArray().get(i, kind.keyType).toString -> String.valueOf(map.valueArray().get(i, kind.valueType))
  }.toMap

  private def of[T](name: String)(get: Int => T): Option[T] =
    Some(places(name)).filterNot(row.isNullAt).map(get)
}

/** Driver side: the rows a procedure returns. */
final case class ProcedureResult(schema: StructType, json: Seq[JsonNode]) extends LocalScan {
  override def readSchema(): StructType = schema
  override def description(): String = "keyfold procedure"

  override def rows(): Array[InternalRow] = json.map { row =>
    InternalRow.fromSeq(schema.fields.toSeq.map(field => value(row.get(field.name), field.dataType)))
  }.toArray

  private def value(json: JsonNode, dataType: DataType): Any =
    if (json == null || json.isNull) null
    else dataType match {
      case IntegerType => json.asInt
      case LongType => json.asLong
      case DoubleType => json.asDouble
      case BooleanType => json.asBoolean
      case ArrayType(item, _) => new GenericArrayData(json.elements.asScala.map(value(_, item)).toArray[Any])
      case _ => UTF8String.fromString(json.asText)
    }
}
