package org.apache.spark.sql.keyfold

import org.apache.spark.SparkEnv

/** Both sides: the folder that Spark spills into (`spark.local.dir`, or the cluster's choice). The block
  * manager's own folder below it goes with its SparkContext, before the fork server does.
  */
object LocalFolder {
  def current: Option[String] = for {
    environment <- Option(SparkEnv.get)
    blocks <- Option(environment.blockManager)
    folder <- blocks.diskBlockManager.localDirs.headOption
  } yield folder.getParent
}
