package org.apache.spark.sql.keyfold

import java.util.Collections

import keyfold.spark.{KeyfoldCatalog, KeyfoldSource}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: which of the session's catalogs opens a path: the one whose warehouse holds it, else any of
  * ours, else one that only paths are asked of.
  */
object Catalogs {
  private val Conf = """spark\.sql\.catalog\.([^.]+)""".r

  private lazy val unnamed = {
    val made = new KeyfoldCatalog
    made.initialize(KeyfoldSource.Name, new CaseInsensitiveStringMap(Collections.emptyMap()))
    made
  }

  def ofPath(path: String): KeyfoldCatalog = {
    val session = SparkSession.active
    val registered = session.conf.getAll.toSeq.sorted.collect {
      case (Conf(name), wanted) if wanted == classOf[KeyfoldCatalog].getName => name
    }
    val ours = registered.map(session.sessionState.catalogManager.catalog).collect { case ours: KeyfoldCatalog => ours }
    ours.find(_.holds(path)).orElse(ours.headOption).getOrElse(unnamed)
  }
}
