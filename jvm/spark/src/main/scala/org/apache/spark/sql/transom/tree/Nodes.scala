package org.apache.spark.sql.transom.tree

import scala.reflect.ClassTag

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.trees.TreeNode

/** Reads and changes Spark's trees by functions. Spark's own methods take partial functions, and
  * each partial function is a class in the jar.
  */
object Nodes {

  /** The nodes of a class in a tree, in preorder. */
  def in[T](tree: TreeNode[_])(implicit nodeClass: ClassTag[T]): Seq[T] =
    tree.collect { case node: T => node }

  /** Replaces each node by the result of `change`, and then the children of the result. */
  def down[T <: TreeNode[T]](tree: T)(change: T => T): T =
    tree.transformDown(PartialFunction.fromFunction(change))

  /** Replaces the children of each node, and then the node by the result of `change`. */
  def up[T <: TreeNode[T]](tree: T)(change: T => T): T =
    tree.transformUp(PartialFunction.fromFunction(change))

  /** Replaces each column by the result of `change`, and then the children of the result. */
  def columns(e: Expression)(change: Attribute => Expression): Expression =
    down(e) {
      case column: Attribute => change(column)
      case other => other
    }
}
