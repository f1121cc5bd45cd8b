package keyfold.client

import java.util.{List => JavaList}

import scala.annotation.varargs
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{KeyfoldException, Kinds, Worker}
import keyfold.spark.processes.{Lease, WorkerPool}
import keyfold.spark.table.{KeyfoldTable => Loaded}
import org.apache.spark.sql.{SparkSession, classic}
import org.apache.spark.sql.catalyst.plans.logical.View
import org.apache.spark.sql.keyfold.{KeyfoldNodes, SqlTypes}
import org.apache.spark.sql.keyfold.arrow.ArrowBatchWriter
import org.apache.spark.sql.types.{StructField, StructType}

/** A table of a keyfold catalog, for programs that write and look up rows without SQL, on the driver. Its columns are
  * those of when it was opened; its rows are always the newest. It can be shared by threads.
  */
final class KeyfoldTable private (table: Loaded) {
  /** The name in SQL. */
  val name: String = table.name()

  /** The columns, with STRING for CHAR and VARCHAR. */
  val schema: StructType = SqlTypes.ofRows(table.columns())

  /** The columns of the primary key. */
  def primaryKey: JavaList[String] = keys.asJava

  /** A writer of rows. */
  def newUpsert(): Upsert = new Upsert(this, None, None)

  /** Look-ups of rows by their keys. */
  def newLookup(): Lookup = new Lookup(this, schema.fieldNames.toSeq, 0)

  override def toString: String = name

  private[client] def keys: Seq[String] = table.description.primaryKey

  private[client] def question(asked: String, fields: (String, Any)*): JsonNode =
    table.questions.asking(asked, ("table" -> table.description.handle) +: fields)

  /** Columns by their names, in any letter case. */
  private[client] def columns(names: Seq[String], doing: String): StructType = StructType(names.map { name =>
    schema.fields.find(_.name == name).orElse(schema.fields.find(_.name.equalsIgnoreCase(name)))
      .getOrElse(throw new KeyfoldException(Kinds.Table,
        s"$doing table $this: it has no column $name; it has ${schema.fieldNames.mkString(", ")}"))
  })

  private[client] def keyColumns: Seq[StructField] = keys.map(schema(_))
}

object KeyfoldTable {
  private[client] val processes = new WorkerPool("client")

  def builder(): TableBuilder = new TableBuilder()

  /** The table of that name in SQL. Throws a KeyfoldException of the kind NoSuchTableError if there is none, TableError
    * if it is no table of a keyfold catalog.
    */
  def open(session: SparkSession, name: String): KeyfoldTable = {
    val plan = TableBuilder.unchecked(session)(session.table(name)) match {
      case rows: classic.Dataset[_] => rows.queryExecution.analyzed
      case _ => throw refused(name, "it is in a session of Spark Connect, whose tables are on its server")
    }
    plan.collectLeaves() match {
      case Seq(KeyfoldNodes(table)) if !plan.exists(_.isInstanceOf[View]) => new KeyfoldTable(table)
      case _ => throw refused(name, "expected the name of a table in a keyfold catalog")
    }
  }

  private def refused(name: String, why: String) = new KeyfoldException(Kinds.Table, s"opening table $name: $why")
}

/** A process that one caller has, and the stream of rows to it; it is given up if there is no memory for them. */
private[client] class Process(schema: StructType) {
  private val lease = KeyfoldTable.processes.take()
  protected val worker: Worker = lease.worker
  protected val rows: ArrowBatchWriter =
    try new ArrowBatchWriter(schema, worker.out)
    catch { case failure: Throwable => lease.drop(); throw failure }

  def end(how: Lease => Unit): Unit = {
    rows.close()
    how(lease)
  }
}

/** The choice of columns, and of how rows fold, before a writer is made. */
final class Upsert private[client] (table: KeyfoldTable, named: Option[Seq[String]], mergeMode: Option[String]) {
  /** Rows with these columns alone, those of the key among them. Where the table folds column by column the others stay
    * as they are; elsewhere they get their DEFAULT, or NULL.
    */
  @varargs def partialUpdate(columns: String*): Upsert = new Upsert(table, Some(columns), mergeMode)

  /** `overwrite` replaces what is stored in place of folding with it. */
  def mergeMode(mode: String): Upsert = new Upsert(table, named, Some(mode))

  def createWriter(): UpsertWriter = {
    val columns = named.getOrElse(table.schema.fieldNames.toSeq)
    new UpsertWriter(table, table.columns(columns, "writing"), mergeMode)
  }
}

/** The choice of columns, and of how new answers are, before keys are looked up. */
final class Lookup private[client] (table: KeyfoldTable, names: Seq[String], refreshMillis: Long) {
  /** Some columns, in this order. */
  @varargs def columns(names: String*): Lookup = new Lookup(table, names, refreshMillis)

  /** Answers may be those of a snapshot that was the newest at most so long ago: none looks for a newer one then. */
  def refreshMillis(millis: Long): Lookup = new Lookup(table, names, millis)

  def createLookuper(): Lookuper = new Lookuper(table, table.columns(names, "looking up in"), refreshMillis)
}
