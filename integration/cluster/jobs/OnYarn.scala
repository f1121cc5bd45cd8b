package keyfold.jobs

import java.nio.file.{Files, Path}

import org.apache.spark.sql.SparkSession

/** The job of yarn_job.py in Scala: rows that add up, and their sum in a file. */
object OnYarn {
  def main(arguments: Array[String]): Unit = {
    val spark = SparkSession.builder().appName("a Scala job on YARN").getOrCreate()
    spark.sql("CREATE TABLE keyfold.default.counts (k BIGINT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES " +
      "('bucket' = '2', 'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum')")
    val rows = spark.range(spark.conf.get("spark.job.rows").toLong).selectExpr("id % 1000 AS k", "1L AS n")
    for (_ <- 1 to 2) rows.writeTo("keyfold.default.counts").append()
    val found = spark.sql("SELECT count(*), sum(n) FROM keyfold.default.counts").head()
    Files.writeString(Path.of(spark.conf.get("spark.job.answer")), s"${found.getLong(0)} ${found.getLong(1)}")
    spark.stop()
  }
}
