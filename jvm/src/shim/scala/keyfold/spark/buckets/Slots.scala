package keyfold.spark.buckets

import keyfold.spark.Settings
import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** Both sides: which task writes which bucket, and how Spark is made to send it there. */
object Slots {
  private val SparkSeed = 42
  private val MostTasksPerCore = 8
  private val TasksPerCoreOfPartitions = 4

  /** Driver side: how many tasks write. One per bucket, so that no core is idle while another has two
    * to write (16 tasks on 2 cores took as long as 2); with very many buckets some per task. With
    * partitions, whose number is not known here, a few tasks per core.
    */
  def tasks(buckets: Int, isPartitioned: Boolean): Int = {
    val cores = Settings.cores
    if (isPartitioned) cores * TasksPerCoreOfPartitions else Math.min(buckets, cores * MostTasksPerCore)
  }

  /** The int for each task that Spark's hash partitioning over `tasks` sends to it. */
  def keys(tasks: Int): Array[Int] = {
    val found = Array.fill(tasks)(-1)
    var missing = tasks
    var key = 0
    while (missing > 0) {
      val task = Math.floorMod(Murmur3_x86_32.hashInt(key, SparkSeed), tasks)
      if (found(task) < 0) {
        found(task) = key
        missing -= 1
      }
      key += 1
    }
    found
  }
}
