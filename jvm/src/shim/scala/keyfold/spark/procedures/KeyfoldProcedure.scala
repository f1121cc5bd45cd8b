package keyfold.spark.procedures

import java.util.{Iterator => JavaIterator, List => JavaList}

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldCatalog}
import keyfold.spark.jobs.PythonJob
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.connector.catalog.procedures.{BoundProcedure, ProcedureParameter, UnboundProcedure}
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.keyfold.{KeyfoldNodes, Refusal}
import org.apache.spark.sql.keyfold.arrow.MetadataRows
import org.apache.spark.sql.keyfold.reads.PartitionCondition
import org.apache.spark.sql.types._

/** Driver side: a procedure that Python declares and does, about one table, its first argument, or a catalog. */
final class KeyfoldProcedure(declaration: JsonNode, catalog: KeyfoldCatalog) extends UnboundProcedure {
  import KeyfoldProcedure._

  override val name: String = declaration.get("name").asText
  private val isOfTable = declaration.get("of_table").asBoolean
  private val purpose = declaration.get("purpose").asText
  private val parameters = Json.items(declaration.get("parameters")).map { one =>
    (one.get("name").asText, one.get("type").asText, one.get("doc").asText)
  }
  private val result = StructType(Json.items(declaration.get("result")).map(column =>
    StructField(column.get("name").asText, DataType.fromDDL(column.get("type").asText))))

  /** The purpose and parameters, which DESCRIBE shows of a SimpleProcedure alone: that is bound from the start, and
    * Spark 4.2 then refuses arguments that it resolves a round later, as `current_timestamp() - …`.
    */
  override def description(): String = {
    val shown = declared(StringType).map(parameter => s"${parameter.name} ${parameter.dataType.sql}")
    s"$purpose (${shown.mkString(", ")})"
  }

  /** `options` are a map where an argument is one, else a text. */
  override def bind(input: StructType): BoundProcedure =
    new Bound(declared(input.fields.map(_.dataType).collectFirst { case map: MapType => map }.getOrElse(StringType)))

  private final class Bound(override val parameters: Array[ProcedureParameter]) extends BoundProcedure {
    override def name(): String = KeyfoldProcedure.this.name
    override def description(): String = KeyfoldProcedure.this.description
    override def isDeterministic: Boolean = false
    override def call(input: InternalRow): JavaIterator[Scan] = KeyfoldProcedure.this.call(parameters.toSeq, input)
  }

  private def declared(options: DataType): Array[ProcedureParameter] = {
    val table = ProcedureParameter.in("table", StringType).comment("the table, as 'namespace.table'").build()
    val others = parameters.map { case (name, kind, doc) =>
      val dataType = kind match {
        case Options => options
        case Condition | TableName => StringType
        case _ => DataType.fromDDL(kind)
      }
      ProcedureParameter.in(name, dataType).defaultValue("NULL").comment(doc).build()
    }
    (if (isOfTable) table +: others else others).toArray
  }

  private def call(bound: Seq[ProcedureParameter], input: InternalRow): JavaIterator[Scan] = {
    val arguments = new Arguments(bound, input)
    def named = arguments.text("table").getOrElse(throw Refusal(s"$name: table is NULL or empty"))
    val found = Option.when(isOfTable)(table(named))
    val values = parameters.map {
      case (name, Condition, _) => name -> arguments.text(name).map(condition(found.get, _))
      case (name, TableName, _) => name -> arguments.text(name).map(path =>
          if (path.contains("/")) path else KeyfoldNodes.identifier(catalog, path).toString)
      case (name, _, _) => name -> arguments.value(name)
    }
    val rows = PythonJob.begin(catalog.questions, found, "call_procedure", declaration.get("again").asBoolean,
      "procedure" -> name, "arguments" -> values.toMap)(_.answer())
    val changed = found.filter(_ => declaration.get("changes_rows").asBoolean)
    changed.foreach(one => SparkSession.active.catalog.refreshTable(one.name())) // what is cached, as after a write
    JavaList.of[Scan](ProcedureResult(result, MetadataRows.ofText(rows.asText, result))).iterator
  }

  /** A condition as predicates; false if Spark sees that no partition satisfies it. */
  private def condition(table: KeyfoldTable, text: String): Any =
    PartitionCondition(SparkSession.active, table, text).getOrElse(false)

  private def table(named: String): KeyfoldTable = catalog.loadTable(KeyfoldNodes.identifier(catalog, named)) match {
    case table: KeyfoldTable => table
    case other => throw Refusal(s"$name: ${other.name()} is not a table with files of its own")
  }
}

object KeyfoldProcedure {
  /** Types of parameters that are not Spark's: a map or a text, SQL over partitions, a table that is to be. */
  private val Options = "OPTIONS"
  private val Condition = "CONDITION"
  private val TableName = "TABLE_NAME"
}

/** Driver side: a procedure that does not exist, and says which do. */
final class NoProcedure(override val name: String, known: String) extends UnboundProcedure {
  override def description(): String = s"there is no procedure $name: $known"
  override def bind(input: StructType): BoundProcedure = throw Refusal(description())
}

/** Driver side: the arguments of a call by name; None for NULL. */
final class Arguments(parameters: Seq[ProcedureParameter], row: InternalRow) {
  private val places = parameters.map(_.name).zipWithIndex.toMap

  /** The text, None for an empty one, too. */
  def text(name: String): Option[String] = of(name)(row.getUTF8String(_).toString).filter(_.nonEmpty)

  /** The value as Python takes it: a TIMESTAMP in milliseconds. */
  def value(name: String): Option[Any] = parameters(places(name)).dataType match {
    case StringType => text(name)
    case TimestampType => of(name)(row.getLong).map(Math.floorDiv(_, 1000L))
    case other => of(name)(place => CatalystTypeConverters.convertToScala(row.get(place, other), other) match {
        case map: scala.collection.Map[_, _] => map.map { case (key, value) => key -> String.valueOf(value) }
        case plain => plain
      })
  }

  private def of[T](name: String)(get: Int => T): Option[T] =
    Some(places(name)).filterNot(row.isNullAt).map(get)
}

/** Driver side: the rows a procedure returns. */
final case class ProcedureResult(schema: StructType, override val rows: Array[InternalRow]) extends LocalScan {
  override def readSchema(): StructType = schema
  override def description(): String = "keyfold procedure"
}
