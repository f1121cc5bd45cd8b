package keyfold.jobs

import scala.io.Source
import scala.util.Using

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.functions._

/** The demo's job in Scala: four tables, folded from January and February by `writeTo(…).append()`. It
  * names nothing of keyfold's but the catalog, and is started by spark-submit with keyfold's jar.
  */
object Demo {
  private val Months = Seq(1, 2)
  private val spark = SparkSession.builder().appName("demo in Scala").getOrCreate()
  import spark.implicits._

  def main(arguments: Array[String]): Unit = {
    Seq("views.sql", "tables.sql").foreach(run)
    for (month <- Months; origin <- Seq("EWR", "JFK", "LGA")) foldCarrierDays(month, origin)
    Months.reverse.foreach(foldAircraft)
    Months.foreach(foldDepartures)
    Months.foreach(foldAirports)
    run("questions.sql")
    spark.stop()
  }

  /** A script that the other forms of this job run too; it travels in this job's jar. */
  private def run(script: String): Unit = {
    val text = Using.resource(Source.fromInputStream(getClass.getResourceAsStream(s"/$script"), "UTF-8"))(_.mkString)
    text.split(";\\s*\n").filter(_.trim.nonEmpty).foreach(spark.sql(_))
  }

  private def flights(month: Int): DataFrame = spark.table("flights").where($"month" === month)

  private def append(rows: DataFrame, table: String): Unit = rows.writeTo(s"keyfold.demo.$table").append()

  private def foldCarrierDays(month: Int, origin: String): Unit = {
    val left = $"departure".isNotNull
    append(flights(month).where($"origin" === origin).select(
      $"carrier", $"day", lit(1L).as("flights"), (!left).cast("bigint").as("cancelled"),
      coalesce($"delay" >= 15, lit(false)).cast("bigint").as("delayed"),
      when(left, $"distance").otherwise(0L).as("miles"), $"delay".as("worst_delay"),
      $"departure".as("first_departure"), $"departure".as("last_departure"),
      when(left, $"flight").as("last_flight"), $"tailnum".as("last_aircraft")), "carrier_days")
  }

  private def foldAircraft(month: Int): Unit =
    append(flights(month).where($"tailnum".isNotNull)
      .select("tailnum", "carrier", "flight", "origin", "dest", "departure", "arrival_delay"), "aircraft")

  /** Each feed has the key and the columns it knows: others stay as they are. */
  private def foldDepartures(month: Int): Unit = {
    weather(month, hoursBefore = 0)
    aircraftRegister(month, 1 + month % 2)
    append(flights(month).select($"day", $"carrier", $"flight", $"origin",
      coalesce($"departure", $"day".cast("timestamp_ntz")).as("reported"),
      $"departure", $"dest", $"tailnum", $"delay"), "departures")
    aircraftRegister(month, 2 - month % 2)
    weather(month, hoursBefore = 3)
  }

  private def weather(month: Int, hoursBefore: Int): Unit = {
    val hour = date_trunc("HOUR", $"departure").cast("timestamp_ntz") - make_interval(lit(0), lit(0), lit(0), lit(0),
      lit(hoursBefore))
    append(flights(month).withColumn("observed", hour).join(spark.table("weather_hours"), Seq("origin", "observed"))
      .select($"day", $"carrier", $"flight", $"origin", $"observed", $"temp".as("temperature"),
        $"wind_gust".as("gust"), $"visib".as("worst_sight")), "departures")
  }

  private def aircraftRegister(month: Int, register: Int): Unit = {
    val isOld = register == 1
    append(flights(month).join(spark.table("planes"), "tailnum").select($"day", $"carrier", $"flight", $"origin",
      lit(register).as("register"), (if (isOld) lit("UNKNOWN") else $"manufacturer").as("manufacturer"), $"model",
      (if (isOld) lit(0) else $"seats".cast("int")).as("seats")), "departures")
  }

  private def foldAirports(month: Int): Unit =
    append(flights(month).join(spark.table("aircraft_numbers"), Seq("tailnum"), "left").groupBy($"origin".as("airport"))
      .agg(count(lit(1)).as("flights"),
        call_function("keyfold.bitmap_union", call_function("keyfold.to_bitmap", $"number")).as("aircraft"),
        array_join(array_sort(collect_set($"dest")), ",").as("destinations")), "airports")
}
