package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.python.UserDefinedPythonFunction
import org.apache.spark.sql.functions._
import org.apache.spark.sql.transom.function.Reduce
import org.apache.spark.sql.types._

class AnalyzedAggregateSuite extends PlanTest {

  private def analyzed(aggregates: Column*) =
    AnalyzedAggregate.of(static, Seq(col("region")), aggregates)

  private def refusal(aggregates: Column*): (String, String) = {
    val (condition, parameters) = errorOf(analyzed(aggregates: _*))
    (condition, parameters.getOrElse("expression", parameters.getOrElse("why", "")))
  }

  test("aggregates of Spark and expressions over them are accepted") {
    val plan = analyzed(
      count("*"),
      sum("n") / count("n"),
      countDistinct("name"),
      collect_list("n"),
      expr("sum(n) FILTER (WHERE n > 3)"),
      expr("percentile_approx(n, 0.5)"),
      expr("max_by(name, n)"))
    assertEquals(plan.aggregateExpressions.length, 8)
    assertEquals(plan.groupingExpressions.length, 1)
  }

  test("an integer literal as key is a value, not the position of a column") {
    val plan = AnalyzedAggregate.of(static, Seq(lit(1)), Seq(sum("n")))
    val keys = plan.groupingExpressions.map {
      case Alias(value, _) => value
      case other => other
    }
    assertEquals(keys.map(_.foldable), Seq(true))
    assertEquals(keys.map(_.eval()), Seq[Any](1))
  }

  test("windows without aggregates are accepted") {
    assertEquals(analyzed().groupingExpressions.length, 1)
  }

  test("a value of a row is not an aggregate") {
    assertEquals(refusal(col("n"))._1, "TRANSOM_NOT_AN_AGGREGATE")
    assertEquals(refusal(col("n") + sum("n"))._1, "TRANSOM_NOT_AN_AGGREGATE")
    assertEquals(refusal(lit(1))._1, "TRANSOM_NOT_AN_AGGREGATE")
  }

  test("the error for a value that is not an aggregate names what to write instead") {
    def fix(column: Column): String = errorOf(analyzed(column))._2("fix")
    assert(fix(col("n")).contains("F.max(...)"))
    assert(fix(upper(col("region"))).contains("Remove it from agg()"))
    val function =
      UserDefinedPythonFunction("plus", null, LongType, 100, udfDeterministic = true)
    val (_, parameters) = errorOf(analyzed(function(col("n"))))
    assertEquals(parameters("expression"), "plus(n)")
    assert(parameters("fix").contains("transom.udaf()"))
  }

  test("the first rejected aggregate is reported, at any position") {
    assertEquals(refusal(count("*"), col("n"), col("name")), ("TRANSOM_NOT_AN_AGGREGATE", "n"))
    assertEquals(refusal(count("*"), lit(5), col("name")), ("TRANSOM_NOT_AN_AGGREGATE", "5"))
  }

  test("functions that return no single value for a window are rejected") {
    val unsupported = "TRANSOM_AGGREGATE_UNSUPPORTED"
    assertEquals(
      refusal(explode(collect_list("n"))),
      (unsupported, "it does not return one value for each window"))
    assertEquals(
      refusal(grouping("region")),
      (unsupported, "it distinguishes grouping sets, and windows have none"))
    assertEquals(
      refusal(row_number()),
      (unsupported, "it returns a value for each row, not for each window"))
  }

  test("an error that no aggregate causes remains Spark's own") {
    assert(refusal(sum("missing"))._1.startsWith("UNRESOLVED_COLUMN"))
    val (condition, _) =
      errorOf(AnalyzedAggregate.of(static, Seq(col("missing")), Seq(count("*"))))
    assert(condition.startsWith("UNRESOLVED_COLUMN"), condition)
  }

  test("a Python function over whole groups cannot be merged") {
    val function =
      PythonUDAF("median", null, DoubleType, Nil, udfDeterministic = true, evalType = 0)
    val error = AnalyzedAggregate.whyUnmergeable(function).get
    assertEquals(error.getCondition, "TRANSOM_AGGREGATE_UNSUPPORTED")
    assertEquals(error.getMessageParameters.get("aggregate"), "median")
  }

  test("a reduce that changes its type cannot be merged") {
    val x = NamedLambdaVariable("x", LongType, nullable = true)
    val y = NamedLambdaVariable("y", LongType, nullable = true)
    def reduce(body: Expression): AggregateFunction =
      Reduce(AttributeReference("n", LongType)(), LambdaFunction(body, Seq(x, y)))
    assertEquals(AnalyzedAggregate.whyUnmergeable(reduce(Add(x, y))), None)
    val error = AnalyzedAggregate.whyUnmergeable(reduce(Cast(Add(x, y), StringType))).get
    assertEquals(error.getCondition, "TRANSOM_AGGREGATE_UNSUPPORTED")
    assertEquals(error.getMessageParameters.get("aggregate"), "reduce(n)")
  }
}
