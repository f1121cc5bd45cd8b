package keyfold.spark.table

import org.apache.spark.sql.connector.catalog.{MetadataColumn, SupportsMetadataColumns}
import org.apache.spark.sql.keyfold.SqlTypes
import org.apache.spark.sql.types.{DataType, StructType}

/** Driver side: columns that a query can name and that `*` leaves out, as Python declares them. */
trait HiddenColumns extends SupportsMetadataColumns { this: DescribedTable =>
  override def metadataColumns(): Array[MetadataColumn] = description.metadataColumns.map { column =>
    new MetadataColumn {
      override val name: String = column.name
      override val dataType: DataType = column.dataType
      override val isNullable: Boolean = column.nullable
      override val comment: String = column.comment
    }
  }

  /** All columns that a scan can return. */
  def readable: StructType = StructType(SqlTypes.ofRows(columns()) ++ SqlTypes.ofRows(description.metadataColumns))
}
