package keyfold.spark.catalog

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import keyfold.spark.Json
import keyfold.spark.questions.{CatalogQuestions, Columns}
import org.apache.spark.sql.catalyst.analysis.{NoSuchTableException, NoSuchViewException,
  TableAlreadyExistsException, ViewAlreadyExistsException}
import org.apache.spark.sql.connector.catalog.{Identifier, RelationCatalog, TableSummary, View}

/** Driver side: the views of a catalog. Spark resolves their queries, Python stores them. */
trait KeyfoldViews extends RelationCatalog {
  def questions: CatalogQuestions

  override def listTableSummaries(namespace: Array[String]): Array[TableSummary] =
    listTables(namespace).map(TableSummary.of(_, TableSummary.MANAGED_TABLE_TYPE)) // Spark would load each

  override def listViews(namespace: Array[String]): Array[Identifier] =
    Json.strings(questions.askOfNamespace(namespace, "list_views")).map(Identifier.of(namespace, _)).toArray

  override def createView(ident: Identifier, view: View): View = set(ident, view, "create")
  override def replaceView(ident: Identifier, view: View): View = set(ident, view, "replace")
  override def createOrReplaceView(ident: Identifier, view: View): View = set(ident, view, "create_or_replace")
  override def dropView(ident: Identifier): Boolean = questions.askOfTable(ident, "drop_view").asBoolean

  override def renameView(from: Identifier, to: Identifier): Unit =
    aboutViews(from, to)(questions.rename(from, to, "rename_view"))

  private def set(ident: Identifier, view: View, mode: String): View = {
    aboutViews(ident, ident)(
      questions.askOfTable(ident, "set_view", "view" -> KeyfoldViews.toJson(view), "mode" -> mode): Unit)
    view
  }

  private def aboutViews(asked: Identifier, made: Identifier)(question: => Unit): Unit =
    try question
    catch {
      case _: NoSuchTableException => throw new NoSuchViewException(asked)
      case _: TableAlreadyExistsException => throw new ViewAlreadyExistsException(made)
    }
}

object KeyfoldViews {
  private def toJson(view: View): ObjectNode = Json.obj(
    "query" -> view.queryText,
    "columns" -> view.columns.map(Columns.toJson),
    "properties" -> view.properties,
    "current_catalog" -> view.currentCatalog,
    "current_namespace" -> view.currentNamespace,
    "settings" -> view.sqlConfigs,
    "schema_mode" -> view.schemaMode,
    "query_columns" -> view.queryColumnNames)

  def fromJson(json: JsonNode): View = {
    val made = new View.Builder()
    made.withColumns(Json.items(json.get("columns")).map(Columns.fromJson).toArray): Unit
    made.withProperties(Json.texts(json.get("properties")).asJava): Unit
    made.withQueryText(json.get("query").asText)
      .withCurrentCatalog(Json.optional(json, "current_catalog").orNull)
      .withCurrentNamespace(Json.strings(json.get("current_namespace")).toArray)
      .withSqlConfigs(Json.texts(json.get("settings")).asJava)
      .withSchemaMode(Json.optional(json, "schema_mode").orNull)
      .withQueryColumnNames(Json.strings(json.get("query_columns")).toArray)
      .build()
  }
}
