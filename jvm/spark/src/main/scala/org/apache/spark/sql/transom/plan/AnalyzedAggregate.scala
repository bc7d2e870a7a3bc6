package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.{AnalysisException, Column, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.functions.{count, lit}
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.function.Reduce
import org.apache.spark.sql.transom.planned.UserExpressions

/** Resolves keys and aggregates, and refuses aggregates that cannot be merged. */
object AnalyzedAggregate {
  private final val KeyPrefix = "__transom_key_"

  /** Why a column of `agg` is no aggregate, and what to write instead. */
  private val OfRow = (
    "it has no single value for a window",
    "Use an aggregate such as F.max(...), or add the column to key_by()")
  private val OfFunction = (
    "a function of F.udf() computes a value for each row",
    "For a value of each window, use transom.udaf(), or apply() instead of agg()")
  private val OfKeys = (
    "it depends only on keys, and each result has its keys",
    "Remove it from agg(), or compute it on the results with withColumn()")

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
      try whyRefused(df.sparkSession, aggregate, analyzed(Seq(aggregate)))
      catch { case e: AnalysisException => whyRefused(df.sparkSession, aggregate, e) }
    try
      analyzed(aggregates) match {
        case plan: Aggregate
            if aggregates
              .zip(plan.aggregateExpressions.takeRight(aggregates.length))
              .forall { case (column, resolved) =>
                whyRefused(df.sparkSession, column, resolved).isEmpty
              } =>
          plan
        case _ => throw aggregates.flatMap(refusal).head
      }
    catch {
      case e: AnalysisException => throw aggregates.flatMap(refusal).headOption.getOrElse(e)
    }
  }

  private def whyRefused(
      session: SparkSession,
      aggregate: Column,
      analyzed: LogicalPlan): Option[TransomException] =
    analyzed match {
      case plan: Aggregate => whyRefused(session, aggregate, plan.aggregateExpressions.last)
      case _ =>
        Some(unsupported(aggregate.toString, "it does not return one value for each window"))
    }

  private def whyRefused(
      session: SparkSession,
      aggregate: Column,
      resolved: Expression): Option[TransomException] = {
    val functions = UserExpressions.functionsOf(resolved).map(_.aggregateFunction)
    if (functions.nonEmpty) functions.flatMap(whyUnmergeable).headOption
    // Spark has resolved the expression, so it reads no column but the keys.
    else if (resolved.references.nonEmpty) Some(notAnAggregate(session, aggregate, OfKeys))
    else Some(notAnAggregate(session, aggregate, OfRow))
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

  private def whyRefused(
      session: SparkSession,
      aggregate: Column,
      e: AnalysisException): Option[TransomException] =
    e.getCondition match {
      case "MISSING_AGGREGATION" | "MISSING_GROUP_BY" =>
        Some(notAnAggregate(session, aggregate, OfRow))
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

  private def notAnAggregate(
      session: SparkSession,
      column: Column,
      reason: (String, String)): TransomException = {
    // The text of a Column with a Python function names classes of Spark.
    val function =
      session.expression(column).collectFirst { case function: PythonUDF => function }
    val (why, fix) = if (function.isDefined && reason == OfRow) OfFunction else reason
    val text = function.map(toPrettySQL(_)).getOrElse(column.toString)
    new TransomException(
      "TRANSOM_NOT_AN_AGGREGATE",
      Map("expression" -> text, "why" -> why, "fix" -> fix))
  }

  private def unsupported(aggregate: String, why: String): TransomException =
    new TransomException(
      "TRANSOM_AGGREGATE_UNSUPPORTED",
      Map("aggregate" -> aggregate, "why" -> why))
}
