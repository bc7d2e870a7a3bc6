package org.apache.spark.sql.transom.function

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.DataType

/** The value of an expression, or null if the expression throws an exception.
  *
  * Spark's `TryEval` does not suffice: Spark may compute a part of its child outside of it, as a
  * common subexpression or as a constant, and the exception of this part is not caught. Spark
  * computes no part of a conditional expression in advance, because it may not be needed.
  */
final case class NullOnError(child: Expression)
    extends UnaryExpression
    with ConditionalExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = true

  // The user did not write this expression, so texts do not show it.
  override def sql: String = child.sql
  override def toString: String = child.toString

  override def alwaysEvaluatedInputs: Seq[Expression] = Nil
  override def withNewAlwaysEvaluatedInputs(inputs: Seq[Expression]): NullOnError = this
  override def branchGroups: Seq[Seq[Expression]] = Nil

  override def eval(row: InternalRow): Any =
    try child.eval(row)
    catch { case _: Exception => null }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    val error = ctx.freshName("error")
    ev.copy(code = code"""
      boolean ${ev.isNull} = true;
      ${JavaCode.javaType(dataType)} ${ev.value} = ${JavaCode.defaultLiteral(dataType)};
      try {
        ${value.code}
        ${ev.isNull} = ${value.isNull};
        ${ev.value} = ${value.value};
      } catch (Exception $error) {
        ${ev.isNull} = true;
      }""")
  }

  override protected def withNewChildInternal(newChild: Expression): NullOnError =
    copy(child = newChild)
}

/** Wraps expressions that can fail. */
object NullOnError {

  /** An expression that is null where `e` fails; `e` itself if it cannot fail. */
  def of(e: Expression): Expression = if (canFail(e)) NullOnError(e) else e

  /** Whether an expression may throw an exception. A Python function may, but Spark calls it in a
    * node of its own, where nothing can catch the exception.
    */
  def canFail(e: Expression): Boolean = e match {
    case _: LeafExpression | _: NullOnError | _: PythonUDF => false
    case Alias(child, _) => canFail(child)
    case GetStructField(struct, _, _) => canFail(struct)
    case _ => true
  }
}
