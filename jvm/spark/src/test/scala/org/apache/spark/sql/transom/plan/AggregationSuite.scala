package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.transom.TestSpecs
import org.apache.spark.sql.transom.function.{DistinctAggregate, NullOnError, PythonPartials, AccumulatorId}
import org.apache.spark.sql.types._

import transom.engine.firing.When
import transom.engine.spec.{WindowSpec, _}

class AggregationSuite extends PlanTest {
  private val usual = Seq(col("region"), col("time"), count("*"), sum("n"))

  private def aggregation(
      columns: Seq[Column] = usual,
      spec: WindowSpec = TestSpecs.hours,
      df: Dataset[Row] = static): Aggregation = {
    val analyzed = AnalyzedColumns.of(df, spec, columns)
    Aggregation.of(analyzed, analyzed.aggregate(identity), analyzed.order, None)
  }

  private def assertReadsPlan(aggregation: Aggregation): Unit = {
    import aggregation._
    val read = (time +: groups) ++ inputs ++ placement.map(_.column) ++ order ++
      (aggregates ++ hidden).flatMap(_.references)
    assert(AttributeSet(read).subsetOf(plan.outputSet), plan)
    assert(plan.missingInput.isEmpty, plan)
  }

  test("functions read plain columns that the plan computes") {
    val found = aggregation(usual.updated(3, sum(col("n") * 2)))
    assertReadsPlan(found)
    assertEquals(found.aggregates.map(_.aggregateFunction.prettyName), Seq("count", "sum"))
    found.aggregates.flatMap(_.aggregateFunction.children).foreach { child =>
      assert(child.isInstanceOf[Attribute] || child.foldable, child)
    }
    assertEquals(found.inputs.length, 1)
    assertEquals(found.aggregates.map(_.mode).distinct, Seq[AggregateMode](Complete))
  }

  test("an expression over aggregates is computed from the results of functions") {
    val found = aggregation(usual.updated(3, (sum("n") / count("*")).as("mean")))
    // The function count appears twice, but is one function.
    assertEquals(found.aggregates.map(_.aggregateFunction.prettyName).toSet, Set("count", "sum"))
    assertEquals(found.aggregates.length, 2)
    val mean = found.results.last
    assertEquals(mean.name, "mean")
    assert(mean.references.subsetOf(AttributeSet(found.functionResults)))
  }

  test("DISTINCT becomes an aggregate that can be merged, and keeps its filter") {
    val found =
      aggregation(usual.updated(3, expr("count(DISTINCT name) FILTER (WHERE n > 3)")))
    val Seq(_, ofNames) = found.aggregates: @unchecked
    assert(ofNames.aggregateFunction.isInstanceOf[DistinctAggregate])
    assert(!ofNames.isDistinct)
    assert(ofNames.filter.exists(_.isInstanceOf[Attribute]))
    assertReadsPlan(found)
  }

  test("a key whose bytes cannot be compared is grouped by others, and restored by First") {
    val found = aggregation(col("folded") +: usual.tail)
    assertEquals(found.groups.map(_.dataType), Seq[DataType](BinaryType))
    val first = found.aggregates.last
    assert(first.aggregateFunction.isInstanceOf[First])
    assertEquals(found.keyResults.map(_.dataType), Seq[DataType](StringType("UTF8_LCASE")))
    assertEquals(found.keyResults.map(_.name), Seq("folded"))
    assertEquals(found.functionResults.length, 2)
    assertReadsPlan(found)
    // A plain key needs no function.
    assertEquals(aggregation().aggregates.length, 2)
  }

  test("a column says whether a key failed, if a key is more than a column") {
    assertEquals(aggregation().keyFailed, None)
    assert(
      aggregation().plan
        .collect { case p: Project => p }
        .forall(_.expressions.forall { e =>
          !e.exists(_.isInstanceOf[NullOnError])
        }))
    val found = aggregation((col("n") / lit(2)) +: usual.tail)
    assertEquals(found.keyFailed.map(_.dataType), Some(BooleanType: DataType))
    assert(found.plan.outputSet.contains(found.keyFailed.get))
    assert(found.groups.forall(_.nullable))
    assertReadsPlan(found)
  }

  test("the time of a row is its timestamp, or the last instant of its window") {
    assertEquals(aggregation().timeType, TimestampType: DataType)
    val local = aggregation(usual.updated(1, col("time").cast(TimestampNTZType)))
    assertEquals(local.timeType, TimestampNTZType: DataType)
    val ofWindow =
      aggregation(usual.updated(1, struct(col("time").as("start"), col("time").as("end"))))
    assertEquals(ofWindow.timeType, TimestampType: DataType)
    Seq(aggregation(), local, ofWindow).foreach { found =>
      assertEquals(found.time.dataType, LongType: DataType)
      assertReadsPlan(found)
    }
    val time = ofWindow.plan.expressions.collect {
      case Alias(e, _) if e.exists(_.isInstanceOf[Subtract]) => e
    }
    assertEquals(time.length, 1)
  }

  test("a time column of another type is rejected") {
    intercept[IllegalArgumentException](aggregation(usual.updated(1, col("n"))))
    intercept[IllegalArgumentException](
      aggregation(usual.updated(1, struct(col("time").as("from"), col("time").as("to")))))
  }

  private def withCondition(text: String): Aggregation =
    aggregation(usual :+ expr(text), TestSpecs.hours.copy(trigger = When(4)))

  test("a condition shares the functions of the user's aggregates") {
    val shared = withCondition("count(*) > 3 AND n > 5")
    assertEquals(shared.hidden, Nil)
    val hidden = withCondition("max(n) > 3 AND sum(n) < 100 AND max(n) < 50")
    assertEquals(hidden.hidden.map(_.aggregateFunction.prettyName), Seq("max"))
    Seq(shared, hidden).foreach { found =>
      assertReadsPlan(found)
      val condition = found.userExpressions.conditions(4)
      assertEquals(condition.collect { case f: AggregateExpression => f }, Nil)
      val known = found.plan.outputSet ++
        AttributeSet((found.aggregates ++ found.hidden).map(_.resultAttribute))
      assert(condition.references.subsetOf(known), condition)
    }
  }

  test("the plan computes what a condition cannot compute from columns") {
    val found = withCondition("count(*) > 3 AND time < current_timestamp() AND rand() > 0.5")
    val condition = found.userExpressions.conditions(4)
    assert(!UserExpressionResolver.needsPlan(condition), condition)
    assert(found.userExpressions.columns.forall(column =>
      found.inputs.contains(column) || column.name.startsWith("count")))
    assertReadsPlan(found)
  }

  test("a condition that needs a plan around an aggregate is rejected") {
    val (condition, parameters) = errorOf(withCondition("shuffle(collect_list(n))[0] > 3"))
    assertEquals(condition, "TRANSOM_EXPRESSION_UNSUPPORTED")
    assertEquals(parameters("argument"), "condition")
  }

  test("Python computes accumulators per key and slice if the slice of a time is known") {
    val state = Concat(Seq(AccumulatorId(Nil), Cast(Literal("state"), BinaryType)))
    val parts = PythonPartials(state, Literal(1), removes = false).toAggregateExpression()
    val columns = AnalyzedColumns.of(
      static,
      TestSpecs.hours,
      usual.updated(3, ExpressionUtils.column(parts).as("parts")))
    def places(sliceOf: Option[Expression => Expression]): Seq[Expression] = {
      val aggregate = columns.aggregate(identity)
      val found = Aggregation.of(columns, aggregate, columns.order, sliceOf)
      assertReadsPlan(found)
      assertEquals(found.aggregates.map(_.aggregateFunction.prettyName).last, "collect_list")
      found.plan
        .collect { case node =>
          node.expressions.flatMap(_.collect { case place: AccumulatorId => place.children })
        }
        .flatten
        .flatten
    }
    assertEquals(places(None), Nil)
    val Seq(region, slice) =
      places(Some(time => Subtract(time, Literal(10L)))).distinct: @unchecked
    assertEquals(region.references.map(_.name).toSeq, Seq("region"))
    assert(
      slice.isInstanceOf[Subtract] && slice.references.map(_.name).toSeq == Seq("__transom_time"))
  }

  test("windows without aggregates have no functions") {
    val found = aggregation(
      Seq(col("region"), col("time")),
      TestSpecs.hours.copy(function = AggFunction(Nil)))
    assertEquals(found.aggregates, Nil)
    assertEquals(found.results, Nil)
  }
}
