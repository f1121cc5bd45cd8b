package keyfold.spark

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}

/** Both sides: JSON as Jackson trees, made from Scala values and read back as them. */
object Json {
  private val mapper = new ObjectMapper()
  private val make = JsonNodeFactory.instance

  def parse(text: String): JsonNode = mapper.readTree(text)
  def parse(bytes: Array[Byte]): JsonNode = mapper.readTree(bytes)
  def bytes(node: JsonNode): Array[Byte] = mapper.writeValueAsBytes(node)
  def text(node: JsonNode): String = mapper.writeValueAsString(node)

  def obj(fields: (String, Any)*): ObjectNode = {
    val made = make.objectNode()
    fields.foreach { case (name, value) => made.set[JsonNode](name, node(value)) }
    made
  }

  /** Strings, numbers, booleans, null, options, maps and sequences of these, and trees as they are. */
  def node(value: Any): JsonNode = value match {
    case null | None => make.nullNode()
    case Some(inner) => node(inner)
    case tree: JsonNode => tree
    case text: String => make.textNode(text)
    case flag: Boolean => make.booleanNode(flag)
    case number: Int => make.numberNode(number)
    case number: Long => make.numberNode(number)
    case number: Double => make.numberNode(number)
    case fields: Map[_, _] => obj(fields.toSeq.map { case (name, field) => name.toString -> field }: _*)
    case fields: java.util.Map[_, _] => node(fields.asScala.toMap)
    case items: Array[_] => node(items.toSeq)
    case items: Iterable[_] =>
      val made = make.arrayNode()
      items.foreach(item => made.add(node(item)))
      made
    case other => throw new IllegalArgumentException(s"no JSON form for ${other.getClass.getName}")
  }

  /** The text of a field, None when it is absent or null. */
  def optional(tree: JsonNode, name: String): Option[String] =
    Option(tree.get(name)).filterNot(_.isNull).map(_.asText)

  def items(tree: JsonNode): Seq[JsonNode] = if (tree == null || tree.isNull) Nil else tree.elements.asScala.toSeq

  def strings(tree: JsonNode): Seq[String] = items(tree).map(_.asText)

  def texts(tree: JsonNode): Map[String, String] =
    if (tree == null || tree.isNull) Map.empty
    else tree.properties.asScala.map(field => field.getKey -> field.getValue.asText).toMap
}
