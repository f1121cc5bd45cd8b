package keyfold.spark

import keyfold.spark.processes.ForkServer
import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.keyfold.aggregates._
import org.apache.spark.sql.keyfold.groups._
import org.apache.spark.sql.keyfold.lookups._
import org.apache.spark.sql.keyfold.paths._
import org.apache.spark.sql.keyfold.statements._
import org.apache.spark.sql.keyfold.writes._
import org.slf4j.LoggerFactory

/** Driver side: `spark.sql.extensions = keyfold.spark.KeyfoldExtensions`. Python starts here already:
  * Spark makes the catalog only when the first statement names it.
  */
final class KeyfoldExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    SparkVersions.warning(SPARK_VERSION).foreach(LoggerFactory.getLogger(getClass).warn(_))
    extensions.injectParser(DialectParser(_, _))
    Seq(TablesAtPaths, OptionsOfSaved, ColumnsOfInsert, TimesInValues, PartitionsInFull, OverwriteConditions,
      DeletesOfAllRows).foreach(rule => extensions.injectResolutionRule(_ => rule))
    extensions.injectResolutionRule(StreamsInto(_))
    Seq(TablesOfLookupHints, FoldsInPivots, AggregateStates).foreach(rule => extensions.injectResolutionRule(_ => rule))
    extensions.injectHintResolutionRule(ColumnsOfFrame(_))
    extensions.injectHintResolutionRule(DropsOfPartitions(_))
    extensions.injectHintResolutionRule(_ => NamesInLookupHints)
    extensions.injectHintResolutionRule(NamesOfOurs(_))
    extensions.injectHintResolutionRule(VersionsInOptions(_))
    extensions.injectHintResolutionRule(StateNames(_))
    Seq(StatesInWrites, NullsInWrites, NotNullsOfWrites, MetadataInChanges, ChangedRows)
      .foreach(rule => extensions.injectPostHocResolutionRule(_ => rule))
    Seq(OrdinalStrategy, LookupStrategy, StateRowsStrategy, FoldsInScans)
      .foreach(strategy => extensions.injectPlannerStrategy(_ => strategy))
    Seq(DeletesFromTables, ColumnsOfStreams).foreach(rule => extensions.injectOptimizerRule(_ => rule))
    extensions.injectPreCBORule(_ => StatesOfRows)
    Seq(SessionCatalogTables, RefusedFolds).foreach(rule => extensions.injectCheckRule(_ => rule))
    Seq(FoldOperators, KeyReads).foreach(rule => extensions.injectColumnar(_ => rule))
    UnqualifiedFunctions.inject(extensions)
    Unnest.inject(extensions)
    ForkServer.startInBackground()
  }
}
