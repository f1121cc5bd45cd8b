package keyfold.jobs

import scala.io.Source
import scala.util.Using

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.functions._

/** The shop's job in Scala: four tables, folded from both halves of the sales by `writeTo(…).append()`. It
  * names nothing of keyfold's but the catalog, and is started by spark-submit with keyfold's jar.
  */
object Shop {
  private val spark = SparkSession.builder().appName("a shop in Scala").getOrCreate()
  import spark.implicits._

  def main(arguments: Array[String]): Unit = {
    Seq("views.sql", "tables.sql").foreach(run)
    Seq(1, 0).foreach(half => fold(spark.table("sales").where($"half" === half)))
    foldOrders(spark.table("sales"))
    run("questions.sql")
    spark.stop()
  }

  /** A script that the other forms of this job run too; it travels in this job's jar. */
  private def run(script: String): Unit = {
    val text = Using.resource(Source.fromInputStream(getClass.getResourceAsStream(s"/$script"), "UTF-8"))(_.mkString)
    text.split(";\\s*\n").filter(_.trim.nonEmpty).foreach(spark.sql(_))
  }

  private def append(rows: DataFrame, table: String): Unit = rows.writeTo(s"keyfold.shop.$table").append()

  private def fold(sales: DataFrame): Unit = {
    append(sales.select($"shop", $"item", lit(1L).as("sales"), $"quantity", $"quantity".as("best"), $"buyer",
      $"moment"), "totals")
    append(sales.select("item", "shop", "moment"), "latest")
    append(sales.groupBy("shop").agg(
      call_function("keyfold.bitmap_union", call_function("keyfold.to_bitmap", $"buyer")).as("buyers"),
      array_join(array_sort(collect_set(concat(lit("i"), $"item" % 10))), ",").as("kinds")), "shops")
  }

  /** Each feed has the key and the columns it knows: others stay as they are. */
  private def foldOrders(sales: DataFrame): Unit = {
    append(sales.where($"id".between(200, 399)).select($"id", $"moment".as("sent"),
      concat(lit("c"), $"shop").as("carrier")), "orders")
    val paid = sales.where($"id" < 300)
    append(paid.select($"id", $"moment".as("paid"), $"quantity".as("amount")), "orders")
    append(paid.select($"id", ($"moment" - 1).as("paid"), lit(-1L).as("amount")), "orders")
  }
}
