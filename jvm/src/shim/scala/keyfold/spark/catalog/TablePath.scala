package keyfold.spark.catalog

import java.nio.file.Paths

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.connector.catalog.Identifier

/** Driver side: tables named by the path of their folder, `keyfold.`/data/stock``: identifiers without a
  * namespace whose name holds a slash, which no table's name does.
  */
object TablePath {
  private val Namespace = ".db"

  def isPath(ident: Identifier): Boolean = ident.namespace.isEmpty && ident.name.contains("/")

  /** A path in the one form it is compared in: without `file:`, from the root, no slash at its end. */
  def absolute(text: String): String = {
    val uri = new Path(text).toUri
    if (uri.getScheme == null || uri.getScheme == "file")
      Paths.get(uri.getPath).toAbsolutePath.normalize.toString
    else uri.toString.replaceFirst("/+$", "")
  }

  /** The identifier of a table at a path, as a catalog has it: that of its namespace and table where the
    * catalog's warehouse holds it.
    */
  def identifier(warehouse: Option[String], text: String): Identifier = {
    val path = absolute(text)
    below(warehouse, path).map(_.split("/")) match {
      case Some(Array(namespace, table)) if namespace.endsWith(Namespace) =>
        Identifier.of(Array(namespace.stripSuffix(Namespace)), table)
      case _ => Identifier.of(Array.empty, path)
    }
  }

  def isBelow(warehouse: Option[String], text: String): Boolean = below(warehouse, absolute(text)).isDefined

  private def below(warehouse: Option[String], path: String): Option[String] =
    warehouse.map(_ + "/").filter(path.startsWith).map(path.stripPrefix)
}
