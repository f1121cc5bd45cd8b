package keyfold.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** Both sides: which task writes which bucket, and how Spark is made to send it there. */
object Slots {
  private val SparkSeed = 42
  private val PerPartitionedTask = 4

  /** Driver side: how many tasks write. Never more than one task a bucket without partitions, and never
    * more than the cores where each would hold several: then the cores fill evenly.
    */
  def tasks(buckets: Int, isPartitioned: Boolean): Int = {
    val cores = SparkSession.active.sparkContext.defaultParallelism
    if (isPartitioned) cores * PerPartitionedTask else Math.min(buckets, cores)
  }

  /** For each task the int that Spark's hash partitioning over `tasks` sends to it. */
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
