package org.apache.spark.sql.transom.function

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types.DataType

import transom.engine.window.Arrival

/** The end of a lifetime, or `Arrival.NoEnd` where it is null. So an end that fails, which
  * [[NullOnError]] makes null, differs from a lifetime without end.
  */
final case class OpenEnd(child: Expression) extends UnaryExpression with CodegenFallback {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = false

  // The user did not write this expression, so texts do not show it.
  override def sql: String = child.sql
  override def toString: String = child.toString

  override def eval(row: InternalRow): Any = {
    val end = child.eval(row)
    if (end == null) Arrival.NoEnd else end
  }

  override protected def withNewChildInternal(newChild: Expression): OpenEnd =
    copy(child = newChild)
}
