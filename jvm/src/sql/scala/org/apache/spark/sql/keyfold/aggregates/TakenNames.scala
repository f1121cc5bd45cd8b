package org.apache.spark.sql.keyfold.aggregates

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{FunctionCatalog, Identifier}

/** Driver side: names of functions that are not ours to give a meaning, as Spark or the user has one of that name. */
object TakenNames {
  def has(session: SparkSession, name: String): Boolean =
    session.sessionState.catalog.lookupBuiltinOrTempFunction(name).isDefined || ofCatalog(session, name).isDefined

  /** The full name of the function that the current catalog has in the current namespace. */
  def ofCatalog(session: SparkSession, name: String): Option[Seq[String]] = {
    val catalogs = session.sessionState.catalogManager
    Try(catalogs.currentCatalog match {
      case current: FunctionCatalog if current.functionExists(Identifier.of(catalogs.currentNamespace, name)) =>
        Some(current.name +: catalogs.currentNamespace.toSeq :+ name)
      case _ => None
    }).toOption.flatten
  }
}
