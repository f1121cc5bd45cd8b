package org.apache.spark.sql.keyfold

import org.apache.spark.sql.catalyst.trees.TreeNode

/** Driver side: a node of Spark's with other values in fields that go by name. `copy` and a constructor take all fields
  * of a class, and their number differs between versions of Spark.
  */
object Fields {
  def replaced[T <: TreeNode[_]](node: T, values: (String, Any)*): T = {
    val asked = values.toMap
    val names = node.productElementNames.toSeq
    asked.keys.find(name => !names.contains(name)).foreach { name =>
      throw new NoSuchFieldException(s"${node.nodeName} of this Spark has the fields ${names.mkString(", ")}, not $name")
    }
    val fields = names.zip(node.productIterator).map { case (name, value) => asked.getOrElse(name, value) }
    node.makeCopy(fields.map(_.asInstanceOf[AnyRef]).toArray).asInstanceOf[T]
  }
}
