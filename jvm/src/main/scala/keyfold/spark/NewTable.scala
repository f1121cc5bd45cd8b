package keyfold.spark

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{TableCatalog, TableInfo}
import org.apache.spark.sql.connector.catalog.constraints.{Constraint, PrimaryKey}
import org.apache.spark.sql.connector.expressions.{NamedReference, Transform}
import org.apache.spark.sql.keyfold.Refusal

/** Driver side: the fields of create_table and stage_table. */
object NewTable {
  private val OurProviders = Set("keyfold", "paimon")

  def fields(table: String, info: TableInfo): Seq[(String, Any)] = {
    val properties = info.properties.asScala.toMap
    properties.get(TableCatalog.PROP_PROVIDER).map(_.toLowerCase(Locale.ROOT)).filterNot(OurProviders)
      .foreach(provider => throw Refusal(s"table $table is declared USING $provider: this catalog's tables "
        + "are Paimon tables of Parquet files; leave USING out (saveAsTable always names a format: there, use "
        + "writeTo(…).tableProperty('primary-key', …).create())"))
    Seq(
      "columns" -> info.columns.map(Columns.toJson),
      "partitioning" -> info.partitions.map(partitionColumn(table, _)),
      "primary_key" -> primaryKey(table, info.constraints),
      "properties" -> properties)
  }

  private def partitionColumn(table: String, transform: Transform): String = transform.name match {
    case "identity" => columnName(table, transform.references.head)
    case _ => throw Refusal(s"table $table is partitioned by ${transform.describe}; "
        + "PARTITIONED BY takes columns only")
  }

  private def primaryKey(table: String, constraints: Array[Constraint]): Option[Seq[String]] = {
    val keys = Option(constraints).toSeq.flatten.map {
      case key: PrimaryKey => key.columns.toSeq.map(columnName(table, _))
      case other => throw Refusal(s"table $table has the constraint ${other.toDDL}; "
          + "PRIMARY KEY is the only table constraint here")
    }
    keys.headOption
  }

  private def columnName(table: String, column: NamedReference): String = column.fieldNames match {
    case Array(name) => name
    case path => throw Refusal(s"table $table names the field ${path.mkString(".")} in its key or "
        + "partitioning; both take top-level columns only")
  }
}
