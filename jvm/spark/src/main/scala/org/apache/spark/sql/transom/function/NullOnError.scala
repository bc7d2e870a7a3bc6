package org.apache.spark.sql.transom.function

import java.nio.channels.ClosedByInterruptException
import java.util.function.Consumer

import scala.util.control.NonFatal

import org.apache.commons.lang3.exception.ExceptionUtils
import org.apache.spark.{TaskContext, TaskKilledException}
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
    catch {
      case e: Exception =>
        PassTaskEnd.accept(e)
        null
    }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    val error = ctx.freshName("error")
    // An object of a class of the JDK, because generated code may not see the classes of this jar.
    val passTaskEnd =
      ctx.addReferenceObj("passTaskEnd", PassTaskEnd, classOf[Consumer[_]].getName)
    ev.copy(code = code"""
      boolean ${ev.isNull} = true;
      ${JavaCode.javaType(dataType)} ${ev.value} = ${JavaCode.defaultLiteral(dataType)};
      try {
        ${value.code}
        ${ev.isNull} = ${value.isNull};
        ${ev.value} = ${value.value};
      } catch (Exception $error) {
        $passTaskEnd.accept($error);
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

/** Throws an exception again if it ends the task: Spark has killed the task, or an error such as
  * a lack of memory caused the exception. Ignores an exception that only the value of an
  * expression caused.
  */
private object PassTaskEnd extends Consumer[Throwable] with Serializable {
  override def accept(e: Throwable): Unit = {
    // A function of the user may wrap the exception of a killed task, or replace it.
    if (ExceptionUtils.getThrowables(e).exists(endsTask)) throw e
    val task = TaskContext.get()
    if (task != null) task.killTaskIfInterrupted()
  }

  private def endsTask(e: Throwable): Boolean = e match {
    case _: TaskKilledException | _: ClosedByInterruptException => true
    // An interrupted thread, and errors of the JVM, are fatal.
    case NonFatal(_) => false
    case _ => true
  }
}
