package keyfold.spark

import java.util.{Map => JavaMap, Set => JavaSet}

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.catalog.{KeyfoldFunctions, KeyfoldViews, NewTable, TableChanges, TablePath}
import keyfold.spark.changes.{ChangesTable, KeyfoldChangelog}
import keyfold.spark.procedures.KeyfoldProcedures
import keyfold.spark.processes.ForkServer
import keyfold.spark.questions.{CatalogQuestions, Description}
import keyfold.spark.table.{KeyfoldTable, MetadataTable, ReadOptimizedTable, StagedKeyfoldTable}
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.TableCatalogCapability._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: `spark.sql.catalog.<name> = keyfold.spark.KeyfoldCatalog`; every answer is Python's. */
final class KeyfoldCatalog extends StagingTableCatalog with KeyfoldNamespaces with KeyfoldFunctions
    with KeyfoldProcedures with KeyfoldViews {
  private var catalog: CatalogQuestions = _
  private var warehouse: Option[String] = None

  override def questions: CatalogQuestions = catalog
  override def name(): String = catalog.name
  override def defaultNamespace(): Array[String] = CatalogQuestions.Default

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = {
    val named = options.asCaseSensitiveMap.asScala.toMap
    val isPlaced = options.containsKey("warehouse") || options.containsKey("uri")
    val below = Settings.get("spark.sql.warehouse.dir").getOrElse("spark-warehouse")
    val placed = if (isPlaced) named else named + ("warehouse" -> s"${below.replaceFirst("^file:/+", "/")}/$name")
    catalog = new CatalogQuestions(name, placed)
    warehouse = placed.get("warehouse").flatMap(text => Try(TablePath.absolute(text)).toOption) // Python says why not
    ForkServer.startInBackground()
  }

  override def capabilities(): JavaSet[TableCatalogCapability] =
    JavaSet.of(SUPPORT_COLUMN_DEFAULT_VALUE, SUPPORT_TABLE_CONSTRAINT)

  override def listTables(namespace: Array[String]): Array[Identifier] =
    Json.strings(catalog.askOfNamespace(namespace, "list_tables")).map(Identifier.of(namespace, _)).toArray

  /** Whether a path is that of something in the warehouse. */
  def holds(path: String): Boolean = TablePath.isBelow(warehouse, path)

  /** The name of the table at a path, here. */
  def identifierOf(path: String): Identifier = TablePath.identifier(warehouse, path)

  private def named(ident: Identifier): Identifier =
    if (TablePath.isPath(ident)) identifierOf(ident.name) else ident

  override def loadTable(ident: Identifier): Table = load(ident)

  /** The table of then, which can't be written: an id of a snapshot, a tag, or an option of readers and its value. */
  override def loadTable(ident: Identifier, version: String): Table = load(ident, "version" -> version)

  /** Microseconds come from Spark. */
  override def loadTable(ident: Identifier, timestamp: Long): Table =
    load(ident, "timestamp_millis" -> Math.floorDiv(timestamp, 1000L))

  override def loadRelation(ident: Identifier): Relation = {
    val found = catalog.askOfTable(named(ident), "load_relation")
    Option(found.get("sql_view")).map(KeyfoldViews.fromJson).getOrElse(loaded(found))
  }

  private def load(ident: Identifier, asOf: (String, Any)*): Table =
    loaded(catalog.askOfTable(named(ident), "load_table", asOf: _*))

  private def loaded(json: JsonNode): Table = {
    val loaded = new KeyfoldTable(catalog, Description(json))
    loaded.description.view match {
      case Some("metadata") => MetadataTable(catalog, loaded.description)
      case Some("read-optimized") => ReadOptimizedTable(loaded)
      case Some("changes") => ChangesTable(loaded)
      case _ => loaded
    }
  }

  override def loadChangelog(
      ident: Identifier, context: ChangelogContext, options: CaseInsensitiveStringMap): Changelog =
    KeyfoldChangelog(table(ident, "load_changes", KeyfoldChangelog.asked(context): _*))

  override def createTable(ident: Identifier, info: TableInfo): Table =
    table(ident, "create_table", NewTable.fields(info): _*)

  /** Spark takes the other table's columns and partitions, Python its options. */
  override def createTableLike(ident: Identifier, info: TableInfo, like: Table): Table = {
    val options = Some(like).collect { case ours: KeyfoldTable => ours.properties }
    table(ident, "create_table", NewTable.fields(info) :+ "like" -> options: _*)
  }

  override def alterTable(ident: Identifier, changes: TableChange*): Table =
    table(ident, "alter_table", "changes" -> changes.map(TableChanges.toJson))

  override def dropTable(ident: Identifier): Boolean = drop(ident, purge = false)
  override def purgeTable(ident: Identifier): Boolean = drop(ident, purge = true)

  override def renameTable(from: Identifier, to: Identifier): Unit = catalog.rename(named(from), to)

  override def stageCreate(ident: Identifier, info: TableInfo): StagedTable = stage(ident, info, "create")
  override def stageReplace(ident: Identifier, info: TableInfo): StagedTable = stage(ident, info, "replace")
  override def stageCreateOrReplace(ident: Identifier, info: TableInfo): StagedTable =
    stage(ident, info, "create_or_replace")

  private def table(ident: Identifier, question: String, fields: (String, Any)*): KeyfoldTable =
    new KeyfoldTable(catalog, Description(catalog.askOfTable(named(ident), question, fields: _*)))

  private def stage(ident: Identifier, info: TableInfo, mode: String): StagedTable =
    new StagedKeyfoldTable(catalog,
      Description(catalog.askOfTable(named(ident), "stage_table", NewTable.fields(info) :+ "mode" -> mode: _*)))

  private def drop(ident: Identifier, purge: Boolean): Boolean =
    try catalog.askOfTable(named(ident), "drop_table", "purge" -> purge).asBoolean
    catch { case _: org.apache.spark.sql.catalyst.analysis.NoSuchTableException => false }
}

/** Driver side: the namespaces of a catalog. */
trait KeyfoldNamespaces extends SupportsNamespaces {
  def questions: CatalogQuestions

  override def listNamespaces(): Array[Array[String]] =
    Json.items(questions.ask("list_namespaces")).map(Json.strings(_).toArray).toArray

  override def listNamespaces(namespace: Array[String]): Array[Array[String]] =
    if (namespace.isEmpty) listNamespaces()
    else { loadNamespaceMetadata(namespace): Unit; Array.empty }

  override def loadNamespaceMetadata(namespace: Array[String]): JavaMap[String, String] =
    Json.texts(questions.askOfNamespace(namespace, "load_namespace")).asJava

  override def createNamespace(namespace: Array[String], properties: JavaMap[String, String]): Unit =
    questions.askOfNamespace(namespace, "create_namespace", "properties" -> properties): Unit

  override def alterNamespace(namespace: Array[String], changes: NamespaceChange*): Unit = {
    val set = changes.collect { case change: NamespaceChange.SetProperty => change.property -> change.value }
    val unset = changes.collect { case change: NamespaceChange.RemoveProperty => change.property }
    questions.askOfNamespace(namespace, "alter_namespace", "set" -> set.toMap, "unset" -> unset): Unit
  }

  override def dropNamespace(namespace: Array[String], cascade: Boolean): Boolean =
    questions.askOfNamespace(namespace, "drop_namespace", "cascade" -> cascade).asBoolean
}
