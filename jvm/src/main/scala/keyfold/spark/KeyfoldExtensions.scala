package keyfold.spark

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.keyfold.OrdinalRule

/** Driver side: `spark.sql.extensions = keyfold.spark.KeyfoldExtensions`. */
final class KeyfoldExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectPreCBORule(_ => OrdinalRule)
}
