package keyfold.spark.catalog

import com.fasterxml.jackson.databind.node.ObjectNode
import keyfold.spark.Json
import keyfold.spark.questions.{Columns, Predicates}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.TableChange
import org.apache.spark.sql.connector.catalog.TableChange._
import org.apache.spark.sql.connector.expressions.Literal
import org.apache.spark.sql.keyfold.Refusal

/** Driver side: the changes of ALTER TABLE, one object per change; Python decides what it allows. */
object TableChanges {
  def toJson(change: TableChange): ObjectNode = change match {
    case set: SetProperty => Json.obj("change" -> "set_property", "key" -> set.property, "value" -> set.value)
    case unset: RemoveProperty => Json.obj("change" -> "unset_property", "key" -> unset.property)
    case column: ColumnChange => details(column).set[ObjectNode]("name", Json.node(column.fieldNames))
    case constraint: AddConstraint => Json.obj("change" -> "add_constraint", "sql" -> constraint.constraint.toDDL)
    case constraint: DropConstraint => Json.obj("change" -> "drop_constraint", "name" -> constraint.name)
    case other => throw refused(other)
  }

  /** Whether a statement asks, which runs as a query of Spark's. A pipeline asks the catalog itself: at each run, for
    * whatever its definition says otherwise than the table.
    */
  private def isStatement: Boolean = SparkSession.active.sparkContext.getLocalProperty("spark.sql.execution.id") != null

  private def refused(change: TableChange): Refusal = change match {
    case _: ClusterBy => Refusal("ALTER TABLE: CLUSTER BY is not supported: rows are kept by bucket and key")
    case _ => Refusal(s"ALTER TABLE: the change ${change.getClass.getSimpleName} is not supported")
  }

  private def details(change: ColumnChange): ObjectNode = change match {
    case add: AddColumn =>
      val column = Columns.typed(add.fieldNames.last, add.dataType, add.isNullable,
        "change" -> "add_column", "comment" -> add.comment, "position" -> position(add.position))
      Columns.withDefault(column, add.defaultValue)
    case rename: RenameColumn => Json.obj("change" -> "rename_column", "to" -> rename.newName)
    case update: UpdateColumnType =>
      Columns.typed(update.fieldNames.last, update.newDataType, nullable = true, "change" -> "update_column_type")
    case update: UpdateColumnNullability =>
      Json.obj("change" -> "update_column_nullability", "nullable" -> update.nullable, "is_statement" -> isStatement)
    case update: UpdateColumnComment =>
      Json.obj("change" -> "update_column_comment", "comment" -> update.newComment)
    case update: UpdateColumnPosition =>
      Json.obj("change" -> "update_column_position", "position" -> position(update.position))
    case update: UpdateColumnDefaultValue =>
      val default = Option(update.newCurrentDefault)
      val constant = default.map(_.getExpression).collect { case found: Literal[_] => found }
      Json.obj("change" -> "update_column_default", "default" -> default.map(_.getSql),
        "default_value" -> constant.flatMap(Predicates.literal))
    case delete: DeleteColumn => Json.obj("change" -> "delete_column", "if_exists" -> delete.ifExists)
    case other => throw refused(other)
  }

  private def position(position: ColumnPosition): Option[Map[String, String]] = position match {
    case null => None
    case after: After => Some(Map("after" -> after.column))
    case _ => Some(Map("first" -> ""))
  }
}
