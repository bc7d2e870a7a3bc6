package org.apache.spark.sql.transom.connect

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils, SparkSession}
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.explain.Explain
import org.apache.spark.sql.transom.message.SpecCodec
import org.apache.spark.sql.transom.plan.{BuildInfo, FunctionPlanner, StampedPlanner, WindowPlanner}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** A call of the Python package in a plan that Spark has not resolved. [[ResolveCalls]] replaces
  * it. Spark Connect sends such plans, and the dataset that a pipeline reads may not exist yet.
  *
  * @param method
  *   the method of [[transom.spark.PythonApi]]
  * @param message
  *   the message, the mode of `explain`, or an empty string
  * @param columns
  *   the columns to which the message refers. They are no expressions of the node, so that only
  *   the planners resolve them.
  */
final case class Call(method: String, message: String, columns: Seq[Column], child: LogicalPlan)
    extends UnaryNode {
  override lazy val resolved: Boolean = false
  override def output: Seq[Attribute] = Nil
  override protected def withNewChildInternal(newChild: LogicalPlan): Call =
    copy(child = newChild)
}

object Call {

  /** The call of a client. */
  def of(method: String, message: String, columns: Seq[Expression], child: LogicalPlan): Call =
    Call(method, message, columns.map(ExpressionUtils.column), child)

  /** Throws if the session was made without the rule that replaces calls, or if the package of
    * the client has another version than the jar.
    */
  def check(session: SparkSession, packageVersion: String): Unit = {
    val rules = session.sessionState.analyzer.extendedResolutionRules
    if (!rules.exists(_.isInstanceOf[ResolveCalls]))
      throw new TransomException(
        "TRANSOM_CONNECT_SERVER",
        Map("missing" -> "spark.sql.extensions"))
    if (packageVersion != BuildInfo.version)
      throw new TransomException(
        "TRANSOM_JAR_VERSION",
        Map("jar" -> BuildInfo.version, "package" -> packageVersion))
  }
}

/** Replaces calls by their plans once their input is resolved. */
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
    call.method match {
      case "apply" =>
        val spec = SpecCodec.decode(call.message)
        WindowPlanner.plan(input, spec, call.columns).queryExecution.analyzed
      case "stamp" =>
        val spec = SpecCodec.decodeStamped(call.message)
        StampedPlanner.plan(input, spec, call.columns).queryExecution.analyzed
      case "mapInArrow" =>
        FunctionPlanner.mapInArrow(input, call.columns.head).queryExecution.analyzed
      case "transformWithState" =>
        FunctionPlanner.transformWithState(input, call.columns).queryExecution.analyzed
      case "explain" =>
        val text = UTF8String.fromString(Explain.of(input, mode = call.message))
        LocalRelation(Seq(AttributeReference("text", StringType)()), Seq(InternalRow(text)))
      case unknown =>
        throw new TransomException(
          "TRANSOM_CONNECT_CALL",
          Map("method" -> s"'$unknown'", "version" -> BuildInfo.version))
    }
  }
}
