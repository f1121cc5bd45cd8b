package keyfold.spark.catalog

import java.util.ServiceLoader

import scala.jdk.CollectionConverters._

import keyfold.spark.buckets.{BucketFunction, SlotFunction}
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException
import org.apache.spark.sql.connector.catalog.{FunctionCatalog, Identifier}
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction

/** Driver side: the functions of a catalog: those that writes cluster by, and reads are partitioned by, for which
  * Spark asks; and what a `CatalogFunctions` brings for users.
  */
trait KeyfoldFunctions extends FunctionCatalog {
  override def listFunctions(namespace: Array[String]): Array[Identifier] =
    CatalogFunctions.all.flatMap(_.names(namespace.toSeq)).distinct.sorted.map(Identifier.of(namespace, _)).toArray

  override def loadFunction(ident: Identifier): UnboundFunction =
    Option.when(ident.namespace.isEmpty)(ident.name).flatMap(ofTasks)
      .orElse(CatalogFunctions.all.flatMap(_.find(ident.namespace.toSeq, ident.name)).headOption)
      .getOrElse(throw new NoSuchFunctionException(ident))

  private def ofTasks(name: String): Option[UnboundFunction] =
    Some(BucketFunction).filter(_.name == name).orElse(SlotFunction.named(name))
}

/** Driver side: functions that every keyfold catalog has for its users. An implementation is a service of the jar,
  * named in META-INF/services, so that catalogs have it without the session extension.
  */
trait CatalogFunctions {

  /** The names of those of a namespace of the catalog, `Seq()` and `Seq("sys")` for two. */
  def names(namespace: Seq[String]): Iterable[String]

  def find(namespace: Seq[String], name: String): Option[UnboundFunction]
}

private object CatalogFunctions {
  lazy val all: Seq[CatalogFunctions] =
    ServiceLoader.load(classOf[CatalogFunctions], classOf[CatalogFunctions].getClassLoader).asScala.toSeq
}
