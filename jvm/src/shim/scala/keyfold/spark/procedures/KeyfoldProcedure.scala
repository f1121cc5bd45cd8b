package keyfold.spark.procedures

import java.util.{Iterator => JavaIterator, List => JavaList}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.KeyfoldCatalog
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
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

  /** The parameters after `table`; all may be left out. */
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
      val asked = if (name == KeyfoldProcedure.Options) options else dataType
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

object KeyfoldProcedure {
  val Options = "options"
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

  /** A TIMESTAMP in milliseconds. */
  def millis(name: String): Option[Long] = of(name)(row.getLong).map(Math.floorDiv(_, 1000L))

  /** `options`, of a map or of text as 'name=value,name=value'. */
  def options: Map[String, String] = {
    val place = places(KeyfoldProcedure.Options)
    if (row.isNullAt(place)) Map.empty
    else parameters(place).dataType match {
      case MapType(names, values, _) =>
        val map = row.getMap(place)
        (0 until map.numElements()).map { i =>
          map.keyArray().get(i, names).toString -> String.valueOf(map.valueArray().get(i, values))
        }.toMap
      case _ => row.getUTF8String(place).toString.split(",").map(_.trim).filter(_.nonEmpty).map(pair).toMap
    }
  }

  private def pair(text: String): (String, String) = text.split("=", 2) match {
    case Array(name, value) => name.trim -> value.trim
    case _ => throw Refusal(s"$procedure: options holds '$text'; expected name=value, more of them after "
        + "commas, or a map")
  }

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
