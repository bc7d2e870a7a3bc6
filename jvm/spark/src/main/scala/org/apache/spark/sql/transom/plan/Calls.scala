package org.apache.spark.sql.transom.plan

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils, SparkSession}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

import transom.spark.PythonApi

/** A call of the Python package in a plan that Spark has not resolved. [[ResolveCalls]] replaces
  * it. Spark Connect sends such plans, and the dataset that a pipeline reads may not exist yet.
  *
  * @param method
  *   the method of [[transom.spark.PythonApi]]
  * @param message
  *   the first argument of the method
  * @param columns
  *   the columns to which the message refers
  */
final case class Call(
    method: String,
    message: String,
    columns: Seq[Expression],
    child: LogicalPlan)
    extends UnaryNode {
  override lazy val resolved: Boolean = false
  override def output: Seq[Attribute] = Nil
  override protected def withNewChildInternal(newChild: LogicalPlan): Call =
    copy(child = newChild)
}

/** Replaces calls by their plans once their input is resolved.
  *
  * The columns are not resolved then: Spark does not resolve `count("*")` outside of its own
  * nodes. The planners resolve them.
  */
final class ResolveCalls(session: SparkSession) extends Rule[LogicalPlan] {
  WindowPlanner.register(session)

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case call: Call if call.child.resolved =>
      val answer = answered(call)
      // A column such as df["k"] finds its DataFrame by a tag.
      answer.mergeTagsFrom(call)
      answer
  }

  private def answered(call: Call): LogicalPlan = {
    val input: Dataset[Row] = Dataset.ofRows(session, call.child)
    val columns = call.columns.map(ExpressionUtils.column).asJava
    call.method match {
      case "apply" => PythonApi.apply(input, call.message, columns).queryExecution.analyzed
      case "stamp" => PythonApi.stamp(input, call.message, columns).queryExecution.analyzed
      case "explain" =>
        val text = UTF8String.fromString(PythonApi.explain(input, call.message))
        LocalRelation(Seq(AttributeReference("text", StringType)()), Seq(InternalRow(text)))
    }
  }
}

object ResolveCalls {

  /** Whether the session was made with the rule. */
  def isIn(session: SparkSession): Boolean =
    session.sessionState.analyzer.extendedResolutionRules.exists(_.isInstanceOf[ResolveCalls])
}
