package keyfold.spark.questions

import java.nio.channels.ReadableByteChannel

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldException, Settings}
import keyfold.spark.processes.{Driver, Talk}
import org.apache.spark.sql.catalyst.analysis.{NamespaceAlreadyExistsException, NoSuchNamespaceException,
  NoSuchTableException, NonEmptyNamespaceException, TableAlreadyExistsException}
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.keyfold.Refusal

/** Driver side: asks about one catalog, and gives failures the classes that Spark looks for. */
final class CatalogQuestions(val name: String, options: Map[String, String]) extends Serializable {
  def ask(question: String, fields: (String, Any)*): JsonNode = {
    val answer = refused(Driver.ask(asking(question, fields)))
    Json.optional(answer, "note").foreach(org.slf4j.LoggerFactory.getLogger(getClass).warn(_)) // for users
    answer
  }

  /** A question that rows follow; `read` reads the Arrow stream to its end. */
  def rows[T](question: String, fields: (String, Any)*)(read: ReadableByteChannel => T): T =
    refused(Driver.rows(asking(question, fields))(read))

  /** A question about which Python asks back; `hold` goes on with it. */
  def talk[T](question: String, again: Boolean, fields: (String, Any)*)(hold: Talk => T): T =
    refused(hold(Driver.talk(asking(question, fields), again)))

  private[keyfold] def asking(question: String, fields: Seq[(String, Any)]): JsonNode = {
    val catalog = Json.obj("name" -> name, "options" -> (Settings.objectStore ++ options))
    Json.obj(Seq("question" -> question, "catalog" -> catalog, "code" -> Settings.functions) ++ fields: _*)
  }

  private def refused[T](asked: => T): T =
    try asked
    catch { case failure: KeyfoldException => throw Refusal.of(failure) }

  def askOfTable(ident: Identifier, question: String, fields: (String, Any)*): JsonNode =
    askAbout(ident.namespace, ident, ident, question, ("ident" -> json(ident)) +: fields)

  /** An error about a namespace is then about the new one, TableExistsError about the new name. Spark leaves the
    * catalog's name in front of a new name that was written in full.
    */
  def rename(from: Identifier, written: Identifier, question: String = "rename_table"): Unit = {
    val isFull = written.namespace.length == 2 && written.namespace.head == name
    val to = if (isFull) Identifier.of(written.namespace.tail, written.name) else written
    askAbout(to.namespace, from, to, question, Seq("ident" -> json(from), "to" -> json(to))): Unit
  }

  def askOfNamespace(namespace: Array[String], question: String, fields: (String, Any)*): JsonNode = {
    val none = Identifier.of(namespace, "")
    askAbout(namespace, none, none, question, ("namespace" -> namespace) +: fields)
  }

  private def json(ident: Identifier): JsonNode = Json.obj("namespace" -> ident.namespace, "table" -> ident.name)

  /** Asks; creates the default namespace on first use. */
  private def askAbout(namespace: Array[String], table: Identifier, made: Identifier, question: String,
      fields: Seq[(String, Any)]): JsonNode = {
    def asked(): JsonNode =
      try ask(question, fields: _*)
      catch {
        case failure: KeyfoldException => throw (failure.kind match {
            case "NoSuchTableError" => new NoSuchTableException(table)
            case "TableExistsError" => new TableAlreadyExistsException(made)
            case "NoSuchNamespaceError" => new NoSuchNamespaceException(namespace)
            case "NamespaceExistsError" => new NamespaceAlreadyExistsException(namespace)
            case "NamespaceNotEmptyError" => new NonEmptyNamespaceException(namespace)
            case _ => failure
          })
      }
    try asked()
    catch {
      case missing: NoSuchNamespaceException if namespace.sameElements(CatalogQuestions.Default) =>
        try ask("create_namespace", "namespace" -> namespace, "properties" -> Map.empty): Unit
        catch { case raced: KeyfoldException if raced.kind == "NamespaceExistsError" => missing.getMessage: Unit }
        asked()
    }
  }
}

object CatalogQuestions {
  val Default: Array[String] = Array("default")
}
