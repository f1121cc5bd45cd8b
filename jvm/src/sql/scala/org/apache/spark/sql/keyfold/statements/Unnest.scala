package org.apache.spark.sql.keyfold.statements

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Explode, Expression, ExpressionInfo, Inline}
import org.apache.spark.sql.catalyst.plans.logical.{Generate, LogicalPlan, OneRowRelation}
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types.{ArrayType, MapType, StructType}

/** Driver side: Flink's UNNEST, by the name that Python's translation gives it. The elements of an array of rows give a
  * column for each field, as inline does, those of other arrays one column, entries of maps two.
  */
object Unnest {
  private val Name = "keyfold_unnest"

  def inject(extensions: SparkSessionExtensions): Unit = extensions.injectTableFunction(
    (FunctionIdentifier(Name), new ExpressionInfo(getClass.getName, Name), arguments => rows(arguments)))

  private def rows(arguments: Seq[Expression]): LogicalPlan = {
    val generator = arguments match {
      case Seq(one) => one.dataType match {
          case ArrayType(_: StructType, _) => Inline(one)
          case _: ArrayType | _: MapType => Explode(one)
          case other => throw refused(other.sql)
        }
      case several => throw refused(several.map(_.dataType.sql).mkString(", "))
    }
    Generate(generator, Nil, outer = false, None, Nil, OneRowRelation())
  }

  private def refused(found: String): Throwable = Refusal(s"UNNEST: expected an ARRAY or a MAP, found $found")
}
