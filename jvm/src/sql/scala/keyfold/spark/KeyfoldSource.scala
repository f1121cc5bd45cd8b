package keyfold.spark

import java.util.{Map => JavaMap}

import org.apache.spark.sql.{DataFrame, SaveMode, SQLContext}
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.keyfold.paths.{SaveAtPath, TableAtPath}
import org.apache.spark.sql.sources.{BaseRelation, CreatableRelationProvider, DataSourceRegister}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: `format("keyfold")`: a table by its path. Not one of SupportsCatalogOptions: with that, Spark
  * looks up what `mode("append")` and `mode("overwrite")` write to before anybody can make it, and a path need
  * not be in a catalog. So saving is a command of the older interface, which runs a write of the newer one.
  */
final class KeyfoldSource extends TableProvider with CreatableRelationProvider with DataSourceRegister {
  override def shortName(): String = KeyfoldSource.Name

  /** `getTable` takes a schema: what is saved may not be there to have one. */
  override def supportsExternalMetadata(): Boolean = true

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = TableAtPath.stored(options)

  override def getTable(
      schema: StructType, partitioning: Array[Transform], properties: JavaMap[String, String]): Table =
    TableAtPath(schema, new CaseInsensitiveStringMap(properties))

  override def createRelation(
      context: SQLContext, mode: SaveMode, parameters: Map[String, String], data: DataFrame): BaseRelation = {
    SaveAtPath(context.sparkSession, mode, parameters, data)
    new BaseRelation {
      override def sqlContext: SQLContext = context
      override def schema: StructType = data.schema
    }
  }
}

object KeyfoldSource {
  val Name = "keyfold"
}
