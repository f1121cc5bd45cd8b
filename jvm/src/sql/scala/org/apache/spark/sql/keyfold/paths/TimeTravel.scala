package org.apache.spark.sql.keyfold.paths

import java.util.Locale

import scala.jdk.CollectionConverters._

import keyfold.spark.KeyfoldCatalog
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.{Identifier, Table}
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: options of readers that name a version or a time of a table. Paimon's are a version in the form
  * `name=value`, which Python reads; only times are read here, by the clock of the session.
  */
object TimeTravel {
  type Spec = TimeTravelSpec

  private val Versions =
    Seq("scan.snapshot-id", "scan.tag-name", "scan.timestamp-millis", "scan.watermark", "scan.version")
  private val Time = "scan.timestamp"
  private val All = Versions ++ Seq(Time, "versionAsOf", "timestampAsOf")
  private val Lower = All.map(_.toLowerCase(Locale.ROOT)).toSet

  /** The version or time that the options name; None if they name none. */
  def of(options: CaseInsensitiveStringMap): Option[Spec] = asked(options, All).flatMap {
    case ("versionAsOf", text) => Some(AsOfVersion(text))
    case ("timestampAsOf" | Time, text) =>
      val zone = SparkSession.active.sessionState.conf.sessionLocalTimeZone
      TimeTravelSpec.create(Some(Literal(text)), None, zone)
    case (name, text) => Some(AsOfVersion(s"$name=$text"))
  }

  /** Paimon's options alone, as a clause of SQL. */
  def clause(relation: UnresolvedRelation): Option[LogicalPlan] = asked(relation.options, Versions :+ Time).map {
    case (name, text) =>
      val plain = relation.copy(options = without(relation.options))
      if (name == Time) RelationTimeTravel(plain, Some(Literal(text)), None)
      else RelationTimeTravel(plain, None, Some(s"$name=$text"))
  }

  private def asked(options: CaseInsensitiveStringMap, names: Seq[String]): Option[(String, String)] = {
    val found = All.filter(options.containsKey)
    if (found.size > 1) throw Refusal(s"a table is read at one version: found the options ${found.mkString(", ")}")
    found.find(names.contains).map(name => name -> options.get(name))
  }

  def without(options: CaseInsensitiveStringMap): CaseInsensitiveStringMap = {
    val kept = options.asCaseSensitiveMap.asScala.filterNot { case (name, _) => Lower(name.toLowerCase(Locale.ROOT)) }
    new CaseInsensitiveStringMap(kept.asJava)
  }

  def load(catalog: KeyfoldCatalog, ident: Identifier, asOf: Option[Spec]): Table = asOf match {
    case Some(at: AsOfVersion) => catalog.loadTable(ident, at.version)
    case Some(at: AsOfTimestamp) => catalog.loadTable(ident, at.timestamp)
    case None => catalog.loadTable(ident)
  }
}
