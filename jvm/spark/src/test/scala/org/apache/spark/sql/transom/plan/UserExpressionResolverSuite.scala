package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.functions._
import org.apache.spark.sql.transom.TestSpecs
import org.apache.spark.sql.transom.planned.{Distance, UserExpressions}
import org.apache.spark.sql.types.DoubleType
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.firing.{AfterDelta, AfterWatermark, KeepNear, KeepWhere, Never, Purging, When}
import transom.engine.setting.Constants

class UserExpressionResolverSuite extends PlanTest {
  private val when = TestSpecs.hours.copy(trigger = When(0))
  private val delta = TestSpecs.hours.copy(trigger = AfterDelta(0, 1.0))

  private def condition(column: Column): Expression =
    UserExpressionResolver.of(static, when, Seq(column)).conditions(0)

  private def distance(column: Column): Distance =
    UserExpressionResolver.of(static, delta, Seq(column)).distances(0)

  private val older = Constants.OlderRow
  private val newer = Constants.NewerRow

  test("the expressions of triggers and evictors are found at any depth") {
    val spec = TestSpecs.hours.copy(
      trigger = AfterWatermark(early = Some(When(4)), late = Some(Purging(AfterDelta(5, 1.0)))),
      evictor = Some(KeepWhere(6)))
    assertEquals(UserExpressionResolver.conditionColumns(spec), Seq(4, 6))
    assertEquals(UserExpressionResolver.distanceColumns(spec), Seq(5))
    val near = spec.copy(trigger = Never, evictor = Some(KeepNear(7, 1.0)))
    assertEquals(UserExpressionResolver.conditionColumns(near), Nil)
    assertEquals(UserExpressionResolver.distanceColumns(near), Seq(7))
  }

  test("a condition may read the row and the aggregates of its window") {
    val resolved = condition(expr("n > 3 AND count(*) >= 2 AND max(n) < sum(n)"))
    assertEquals(resolved.references.map(_.name).toSet, Set("n"))
    assertEquals(
      UserExpressions.functionsOf(resolved).map(_.aggregateFunction.prettyName),
      Seq("count", "max", "sum"))
  }

  test("a condition is true or false") {
    val (condition, parameters) = errorOf(this.condition(expr("n + 1")))
    assertEquals(condition, "TRANSOM_NOT_A_CONDITION")
    assertEquals(parameters.get("type"), Some("INT"))
  }

  test("an unknown column is reported with the user's columns") {
    val known = "'region', 'time', 'n', 'name', 'folded'"
    Seq[(String, () => Any)](
      "condition" -> (() => condition(expr("missing > 3"))),
      "delta" -> (() => distance(col(newer).getField("missing")))).foreach {
      case (argument, resolve) =>
        val (condition, parameters) = errorOf(resolve())
        assertEquals(condition, "TRANSOM_UNKNOWN_COLUMN")
        assertEquals(
          parameters,
          Map("argument" -> argument, "column" -> "`missing`", "columns" -> known))
    }
  }

  test("a condition is a single value of a row and its window") {
    Seq("explode(array(true))", "sum(n) OVER (PARTITION BY region) > 1").foreach { text =>
      val (name, parameters) = errorOf(condition(expr(text)))
      assertEquals(name, "TRANSOM_EXPRESSION_UNSUPPORTED")
      assertEquals(parameters("why"), "it is not a single value of a row and its window")
    }
  }

  test("an aggregate of an aggregate is refused") {
    val (name, parameters) = errorOf(condition(expr("n > 0 AND sum(count(n)) > 1")))
    assertEquals(name, "TRANSOM_EXPRESSION_UNSUPPORTED")
    assertEquals(parameters("why"), "it aggregates an aggregate")
    // Spark itself finds the aggregate if the condition does not read the row before it.
    assertEquals(errorOf(condition(expr("sum(count(n)) > 1")))._1, "NESTED_AGGREGATE_FUNCTION")
  }

  test("a condition with an aggregate that cannot be merged is refused") {
    val median =
      PythonUDAF("median", null, DoubleType, Nil, udfDeterministic = true, evalType = 0)
    val isHigh = GreaterThan(median.toAggregateExpression(), Literal(1.0))
    val (name, parameters) = errorOf(condition(ExpressionUtils.column(isHigh)))
    assertEquals(name, "TRANSOM_AGGREGATE_UNSUPPORTED")
    assertEquals(parameters("aggregate"), "median")
  }

  test("only a plan can compute what depends on more than columns") {
    Seq("rand() > 0.5", "current_timestamp() > time", "uuid() = name").foreach { text =>
      assert(UserExpressionResolver.needsPlan(condition(expr(text))), text)
      val (name, parameters) = errorOf(UserExpressionResolver.checked(condition(expr(text))))
      assertEquals(name, "TRANSOM_EXPRESSION_UNSUPPORTED")
      assertEquals(parameters("argument"), "condition")
    }
    Seq("n > 3", "date_add(to_date(time), 1) > '2024-01-01'", "upper(name) = 'A'").foreach {
      text => assert(!UserExpressionResolver.needsPlan(condition(expr(text))), text)
    }
  }

  test("a common subexpression is written out where it is used") {
    val resolved = condition(expr("nullif(n, 3) > 5"))
    assert(!resolved.exists(e => e.isInstanceOf[With] || e.isInstanceOf[CommonExpressionRef]))
  }

  /** The distance between two rows with columns n and name. */
  private def between(distance: Distance, from: (Int, String), to: (Int, String)): Any = {
    def row(values: (Int, String)) =
      InternalRow(null, null, values._1, UTF8String.fromString(values._2), null)
    val input = distance.twins.map(_._2) ++ distance.twins.map(_._1)
    BindReferences
      .bindReference(distance.of, AttributeSeq(input))
      .eval(new JoinedRow(row(from), row(to)))
  }

  test("a distance reads fields of the two rows") {
    val found = distance(col(newer).getField("n") - col(older).getField("n") * 2)
    assertEquals(between(found, (3, ""), (10, "")), 10 - 2 * 3: Any)
    assertEquals(found.columns.map(_.name).distinct, Seq("n"))
  }

  test("a distance may read a whole row") {
    val found = distance(expr(s"length(to_json($newer)) - length(to_json($older))"))
    assertEquals(between(found, (1, "a"), (1, "abcd")), 3: Any)
  }

  test("a distance does not read the columns of the Python package") {
    assertEquals(
      distance(col(newer).getField("n")).twins.map(_._1.name),
      Seq("region", "time", "n", "name", "folded"))
  }

  test("a distance is a number") {
    val (condition, parameters) = errorOf(distance(col(newer).getField("name")))
    assertEquals(condition, "TRANSOM_NOT_A_NUMBER")
    assertEquals(parameters("type"), "STRING")
  }

  Seq(
    "a random factor" -> rand() * col(newer).getField("n"),
    "the current time" -> expr("unix_micros(now())"),
    "several values" -> explode(array(lit(1)))).foreach { case (name, column) =>
    test(s"a distance depends on two rows alone, not on $name") {
      val (condition, parameters) = errorOf(distance(column))
      assertEquals(condition, "TRANSOM_EXPRESSION_UNSUPPORTED")
      assertEquals(parameters("argument"), "delta")
    }
  }
}
