package keyfold.spark

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.keyfold.OrdinalStrategy

/** Driver side: `spark.sql.extensions = keyfold.spark.KeyfoldExtensions`. */
final class KeyfoldExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectPlannerStrategy(_ => OrdinalStrategy)
}
