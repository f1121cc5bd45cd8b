package org.apache.spark.sql.keyfold.aggregates

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import keyfold.spark.functions.{Aggregates, Functions}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation}
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types._

/** Driver side: Python's description of a function's states for arguments of certain types. */
final case class BoundState(json: JsonNode) {
  private def text(field: String): String = json.path(field).asText
  private def types(field: String): Seq[DataType] =
    Json.items(json.get(field)).map(kind => DataType.fromJson(Json.text(kind)))

  val name: String = text("name")
  val signature: String = text("signature")
  val constants: String = text("constants")
  val isSparks: Boolean = text("kind") == "spark"
  val options: JsonNode = json.path("options")
  val isFold: Boolean = text("kind") == "fold"
  val unites: String = text("unites")
  val prepares: String = text("prepares")
  val finishes: String = text("finishes")
  /** The type of the result, what it is of no rows if not NULL, and the state of no rows. */
  lazy val result: DataType = DataType.fromJson(Json.text(json.get("result")))
  lazy val empty: Option[String] = Json.optional(json, "empty")
  private lazy val nothing = Json.optional(json, "nothing")
  lazy val arguments: Seq[DataType] = types("arguments")
  lazy val fields: StructType =
    StructType(types("fields").zipWithIndex.map { case (kind, at) => StructField(s"f$at", kind) })
  lazy val header: Array[Byte] = StateBytes.header(signature + constants)

  /** The arguments of the column's states that must not be NULL. */
  lazy val required: Seq[Boolean] = Json.items(json.get("required")).map(_.asBoolean)

  /** The states of another signature, with this call's constants. */
  def retargeted(other: BoundState): BoundState =
    BoundState(other.json.deepCopy[com.fasterxml.jackson.databind.node.ObjectNode]().put("constants", constants))

  /** Spark's aggregate over arguments, as its analyzer makes it: with its own casts, for a buffer of its own. */
  def aggregate(inputs: Seq[Expression]): DeclarativeAggregate = {
    val places = arguments.zipWithIndex.map { case (kind, at) => AttributeReference(s"a$at", kind)() }
    val call = Alias(UnresolvedFunction(Seq(unites), places, isDistinct = false), "r")()
    val session = SparkSession.active.sessionState
    val made = session.analyzer.execute(Aggregate(Nil, Seq(call), LocalRelation(places)))
    val found = made.expressions.flatMap(_.collect { case one: AggregateExpression => one.aggregateFunction })
    val function = found.headOption.map(BoundState.sparks).collect { case one: DeclarativeAggregate => one }
      .getOrElse(throw Refusal(s"Spark has no $unites of ${arguments.map(_.sql).mkString(", ")} with a state"))
    val kinds = function.aggBufferAttributes.map(_.dataType)
    if (!DataType.equalsIgnoreNullability(StructType(kinds.zip(fields).map { case (kind, field) =>
          field.copy(dataType = kind) }), fields))
      throw Refusal(s"the state of $signature has the fields ${kinds.map(_.sql).mkString(", ")} in this Spark, " +
        s"and ${fields.map(_.dataType.sql).mkString(", ")} in keyfold")
    val put = places.map(_.exprId).zip(inputs).toMap
    function.transform { case place: AttributeReference if put.contains(place.exprId) => put(place.exprId) }
      .asInstanceOf[DeclarativeAggregate]
  }

  /** Spark's aggregate over nothing, for its buffer alone. */
  def buffered: DeclarativeAggregate = aggregate(arguments.map(Literal.create(null, _)))

  /** The aggregate that Python folds, over values or over states; its result is a state if it `gives` one. */
  def fold(call: String, input: Expression, takes: Boolean, gives: Boolean): FoldFunction = {
    val over = Json.obj("of" -> "states", "name" -> call, "signature" -> signature, "takes" -> takes, "gives" -> gives,
      "fold" -> json.get("fold"))
    if (gives) FoldFunction(call, over.toString, BinaryType, nothing, Seq(input), Some(signature))
    else FoldFunction(call, over.toString, result, empty, Seq(input))
  }

  /** The state of one row; the arguments have the bound types. */
  def state(inputs: Seq[Expression]): Expression =
    if (isFold) FoldOfRow(fold(name, inputs.head, takes = false, gives = true))
    else if (isSparks) {
      val function = aggregate(inputs)
      val first = function.aggBufferAttributes.map(_.exprId).zip(function.initialValues).toMap
      StateOfFields(header, function.updateExpressions.map(_.transform {
        case buffer: AttributeReference if first.contains(buffer.exprId) => first(buffer.exprId)
      }))
    } else StateOfFields(header, Seq(kept(inputs.head)))

  /** The one field of the state of a value, of functions whose buffer is a bag or a sketch. */
  private def kept(input: Expression): Expression = fields.head.dataType match {
    case _: ArrayType if prepares == "nulls" => CreateArray(Seq(input))
    case bag: ArrayType => If(IsNull(input), Literal.create(Nil, bag), CreateArray(Seq(input)))
    case _ if prepares.isEmpty => input
    case _ => BoundState.scalar(prepares, Seq(input))
  }
}

object BoundState {
  /** Spark's result of a buffer, or what Doris' function makes of it. */
  def finish(result: Expression, finishes: String): Expression =
    if (finishes == "zero") Coalesce(Seq(result, Cast(Literal(0), result.dataType))) else result

  /** The states of a call; constants are the texts of arguments that are constant, None of others. */
  def ofCall(name: String, types: Seq[DataType], constants: Seq[Option[String]],
      named: Map[String, Option[String]]): BoundState =
    BoundState(Aggregates.ask("bind_state", "name" -> name, "types" -> types.map(_.json), "constants" -> constants,
      "named" -> named))

  def ofSignature(signature: String): BoundState = BoundState(Aggregates.ask("bind_state", "signature" -> signature))

  /** The name in signatures of a function that has states. */
  def canonical(name: String): Option[String] = {
    val answer = Aggregates.ask("state_function", "name" -> name)
    Option.when(answer.isTextual)(answer.asText)
  }

  /** The function that Spark runs in place of one that it only has for its name. */
  private def sparks(function: Expression): Expression = function match {
    case named: RuntimeReplaceable => sparks(named.replacement)
    case other => other
  }

  /** A scalar function of keyfold, which takes any value as its text where it does not take its type. */
  def scalar(name: String, inputs: Seq[Expression]): Expression = {
    val function = Functions.find(name).get
    def bind(inputs: Seq[Expression]): Expression = {
      val bound = function.bind(StructType(inputs.map(in => StructField("a", in.dataType))))
      V2ExpressionUtils.resolveScalarFunction(bound,
        inputs.zip(bound.inputTypes).map { case (in, kind) => if (in.dataType == kind) in else Cast(in, kind) })
    }
    try bind(inputs)
    catch { case _: UnsupportedOperationException => bind(inputs.map(Cast(_, StringType))) }
  }
}
