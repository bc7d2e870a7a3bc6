package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.{AnalysisException, Column, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.functions.{count, lit}
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.function.Reduce
import org.apache.spark.sql.transom.tree.Nodes

/** Resolves keys and aggregates, and refuses aggregates that cannot be merged. */
object AnalyzedAggregate {
  private final val KeyPrefix = "__transom_key_"

  /** Resolves the aggregation with Spark's analyzer.
    *
    * Throws a `TransomException` for an aggregate that has no single value per window or cannot
    * be merged.
    */
  def of(df: Dataset[Row], keys: Seq[Column], aggregates: Seq[Column]): Aggregate = {
    // Aliases keep Spark from reading an integer literal as the position of a column.
    val named = keys.zipWithIndex.map { case (key, i) => key.as(KeyPrefix + i) }
    def analyzed(some: Seq[Column]): LogicalPlan = {
      // `agg` needs at least one aggregate.
      val columns = if (some.isEmpty) Seq(count(lit(1))) else some
      df.groupBy(named: _*).agg(columns.head, columns.tail: _*).queryExecution.analyzed
    }
    def refusal(aggregate: Column): Option[TransomException] =
      try whyRefused(aggregate, analyzed(Seq(aggregate)))
      catch { case e: AnalysisException => whyRefused(aggregate, e) }
    try
      analyzed(aggregates) match {
        case plan: Aggregate
            if aggregates
              .zip(plan.aggregateExpressions.takeRight(aggregates.length))
              .forall { case (column, resolved) => whyRefused(column, resolved).isEmpty } =>
          plan
        case _ => throw aggregates.flatMap(refusal).head
      }
    catch {
      case e: AnalysisException => throw aggregates.flatMap(refusal).headOption.getOrElse(e)
    }
  }

  private def whyRefused(aggregate: Column, analyzed: LogicalPlan): Option[TransomException] =
    analyzed match {
      case plan: Aggregate => whyRefused(aggregate, plan.aggregateExpressions.last)
      case _ =>
        Some(unsupported(aggregate.toString, "it does not return one value for each window"))
    }

  private def whyRefused(aggregate: Column, resolved: Expression): Option[TransomException] = {
    val functions = Nodes.in[AggregateExpression](resolved).map(_.aggregateFunction)
    if (functions.isEmpty) Some(notAnAggregate(aggregate))
    else functions.flatMap(whyUnmergeable).headOption
  }

  /** The error for a function whose partial results cannot be merged, or None if they can. */
  def whyUnmergeable(function: AggregateFunction): Option[TransomException] = function match {
    case f: PythonUDAF =>
      Some(unsupported(f.name, "a Python function over whole groups has no partial results"))
    case reduce: Reduce if reduce.problem.isDefined =>
      Some(unsupported(s"reduce(${reduce.child.sql})", reduce.problem.get))
    case _: DeclarativeAggregate | _: ImperativeAggregate | _: RuntimeReplaceable => None
    case f => Some(unsupported(f.sql, "its partial results cannot be merged"))
  }

  private def whyRefused(aggregate: Column, e: AnalysisException): Option[TransomException] =
    e.getCondition match {
      case "MISSING_AGGREGATION" | "MISSING_GROUP_BY" => Some(notAnAggregate(aggregate))
      case "UNSUPPORTED_GROUPING_EXPRESSION" =>
        Some(
          unsupported(
            aggregate.toString,
            "it distinguishes grouping sets, and windows have none"))
      case "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE" =>
        Some(
          unsupported(aggregate.toString, "it returns a value for each row, not for each window"))
      case _ => None
    }

  private def notAnAggregate(column: Column): TransomException =
    new TransomException("TRANSOM_NOT_AN_AGGREGATE", Map("expression" -> column.toString))

  private def unsupported(aggregate: String, why: String): TransomException =
    new TransomException(
      "TRANSOM_AGGREGATE_UNSUPPORTED",
      Map("aggregate" -> aggregate, "why" -> why))
}
