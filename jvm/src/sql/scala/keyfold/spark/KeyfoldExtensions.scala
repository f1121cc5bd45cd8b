package keyfold.spark

import keyfold.spark.processes.ForkServer
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.keyfold.aggregates._
import org.apache.spark.sql.keyfold.groups._
import org.apache.spark.sql.keyfold.lookups._
import org.apache.spark.sql.keyfold.paths._
import org.apache.spark.sql.keyfold.statements._
import org.apache.spark.sql.keyfold.writes._

/** Driver side: `spark.sql.extensions = keyfold.spark.KeyfoldExtensions`. Python starts here already:
  * Spark makes the catalog only when the first statement names it.
  */
final class KeyfoldExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectParser(DialectParser(_, _))
    extensions.injectResolutionRule(_ => TablesAtPaths)
    extensions.injectResolutionRule(_ => OptionsOfSaved)
    extensions.injectResolutionRule(_ => ColumnsOfInsert)
    extensions.injectResolutionRule(_ => TimesInValues)
    extensions.injectHintResolutionRule(ColumnsOfFrame(_))
    extensions.injectHintResolutionRule(DropsOfPartitions(_))
    extensions.injectResolutionRule(_ => PartitionsInFull)
    extensions.injectResolutionRule(_ => OverwriteConditions)
    extensions.injectResolutionRule(_ => DeletesOfAllRows)
    extensions.injectResolutionRule(StreamsInto(_))
    extensions.injectHintResolutionRule(_ => NamesInLookupHints)
    extensions.injectResolutionRule(_ => TablesOfLookupHints)
    extensions.injectPostHocResolutionRule(_ => StatesInWrites)
    extensions.injectPostHocResolutionRule(_ => NullsInWrites)
    extensions.injectPostHocResolutionRule(_ => NotNullsOfWrites)
    extensions.injectPostHocResolutionRule(_ => MetadataInChanges)
    extensions.injectPostHocResolutionRule(_ => ChangedRows)
    extensions.injectPostHocResolutionRule(_ => StatesInDescribe)
    extensions.injectPlannerStrategy(_ => OrdinalStrategy)
    extensions.injectPlannerStrategy(_ => LookupStrategy)
    extensions.injectPlannerStrategy(_ => StateRowsStrategy)
    extensions.injectPlannerStrategy(_ => FoldsInScans)
    extensions.injectOptimizerRule(_ => DeletesFromTables)
    extensions.injectOptimizerRule(_ => ColumnsOfStreams)
    extensions.injectPreCBORule(_ => StatesOfRows)
    extensions.injectCheckRule(_ => SessionCatalogTables)
    extensions.injectCheckRule(_ => RefusedFolds)
    extensions.injectHintResolutionRule(NamesOfOurs(_))
    extensions.injectHintResolutionRule(VersionsInOptions(_))
    extensions.injectHintResolutionRule(StateNames(_))
    extensions.injectResolutionRule(_ => FoldsInPivots)
    extensions.injectResolutionRule(_ => AggregateStates)
    extensions.injectHintResolutionRule(UnqualifiedAggregates(_))
    extensions.injectColumnar(_ => FoldOperators)
    UnqualifiedFunctions.inject(extensions)
    Unnest.inject(extensions)
    ForkServer.startInBackground()
  }
}
