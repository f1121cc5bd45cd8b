package keyfold.spark.catalog

import java.util.Locale

import scala.jdk.CollectionConverters._

import keyfold.spark.questions.Columns
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.connector.catalog.{Table, TableCatalog, TableInfo}
import org.apache.spark.sql.connector.catalog.constraints.{Constraint, PrimaryKey}
import org.apache.spark.sql.connector.expressions.{NamedReference, Transform}
import org.apache.spark.sql.keyfold.Refusal

/** Driver side: the fields of create_table and stage_table. */
object NewTable {
  /** Parquet is what data files are, and what DataFrames say that name no format. */
  private val OurProviders = Set("keyfold", "paimon", "parquet")
  private val Hive = "hive."
  private val Reserved = Set(TableCatalog.PROP_PROVIDER, TableCatalog.PROP_OWNER, TableCatalog.PROP_LOCATION,
    TableCatalog.PROP_COMMENT, TableCatalog.PROP_EXTERNAL, TableCatalog.PROP_IS_MANAGED_LOCATION,
    TableCatalog.PROP_TABLE_TYPE)

  /** The place of a table, and its key, which is a constraint too. */
  private val OfOneTable = Set(TableCatalog.PROP_LOCATION, TableCatalog.PROP_IS_MANAGED_LOCATION, "primary-key")

  /** The columns and partitions that Spark takes of another table, and, if that is ours, its options and comment,
    * without which its rows would fold otherwise; the statement's own come first.
    */
  def like(info: TableInfo, other: Table): TableInfo = {
    val taken = other match {
      case ours: KeyfoldTable => ours.properties.asScala.toMap -- OfOneTable
      case _ => Map.empty[String, String]
    }
    new TableInfo.Builder()
      .withColumns(info.columns)
      .withPartitions(info.partitions)
      .withConstraints(info.constraints)
      .withProperties((taken ++ info.properties.asScala).asJava)
      .build()
  }

  def fields(table: String, info: TableInfo): Seq[(String, Any)] = {
    val properties = info.properties.asScala.toMap
    properties.get(TableCatalog.PROP_PROVIDER).map(_.toLowerCase(Locale.ROOT)).filterNot(OurProviders)
      .foreach(provider => throw Refusal(s"table $table is declared USING $provider: this catalog's tables "
        + "are Paimon tables of Parquet files; leave USING out, or say keyfold"))
    checkStorage(table, properties.keySet)
    Seq(
      "columns" -> info.columns.map(Columns.toJson),
      "partitioning" -> info.partitions.map(partitionColumn(table, _)),
      "primary_key" -> primaryKey(table, info.constraints),
      "properties" -> properties,
      "keeps" -> isSaved(info))
  }

  /** ROW FORMAT and STORED AS: what Spark has for them are properties that no OPTIONS (…) named. */
  private def checkStorage(table: String, properties: Set[String]): Unit = {
    val unnamed = properties.filter(_.startsWith(TableCatalog.OPTION_PREFIX))
      .filterNot(name => properties(name.stripPrefix(TableCatalog.OPTION_PREFIX)))
    (unnamed ++ properties.filter(_.startsWith(Hive))).headOption.foreach { name =>
      throw Refusal(s"table $table: ROW FORMAT and STORED AS ($name) are not supported: rows are kept in Parquet "
        + "files; leave them out")
    }
  }

  /** Whether this is what `saveAsTable` says of a table: a format, and options in place of properties. Where it
    * overwrites one, it keeps of it what it does not name.
    */
  private def isSaved(info: TableInfo): Boolean = {
    val properties = info.properties.asScala.keySet
    val own = properties.filterNot(name => Reserved(name) || name.startsWith(TableCatalog.OPTION_PREFIX))
    properties(TableCatalog.PROP_PROVIDER) && own.forall(name => properties(TableCatalog.OPTION_PREFIX + name)) &&
    Option(info.constraints).forall(_.isEmpty)
  }

  private def partitionColumn(table: String, transform: Transform): String = transform.name match {
    case "identity" => columnName(table, transform.references.head)
    case "bucket" | "sorted_bucket" => throw Refusal(s"table $table: CLUSTERED BY is not supported; rows go to buckets "
        + "by their key: name TBLPROPERTIES ('bucket' = …), and 'bucket-key' for some columns of the key")
    case "cluster_by" => throw Refusal(s"table $table: CLUSTER BY is not supported; the rows of a bucket are kept in "
        + "the order of their key: leave it out")
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
