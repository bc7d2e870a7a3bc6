package org.apache.spark.sql.transom.aggregate

import munit.FunSuite
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Count, Max}
import org.apache.spark.sql.transom.{TestPlans, TestSpecs}
import org.apache.spark.sql.transom.planned.{Distance, KeyedLayout, UserExpressions}

import transom.engine.window.Session

class KeyedConditionsSuite extends FunSuite {
  import SampleAggregates._

  private val count = TestPlans.aggregate(Count(Seq(Literal(1))))
  private val max = TestPlans.aggregate(Max(number))
  private val older = number.newInstance()

  private val plan = TestPlans
    .of(Nil, inputs, Seq(count), TestSpecs.hours.copy(window = Session(60000000L)), KeyedLayout)
    .copy(
      hidden = Seq(max),
      userExpressions = new UserExpressions(
        conditions = Map(
          4 -> GreaterThan(number, Literal(3L)),
          5 -> And(
            GreaterThanOrEqual(count.resultAttribute, Literal(2L)),
            LessThan(number, max.resultAttribute))),
        distances = Map(6 -> Distance(Subtract(number, older), Seq(number -> older)))))

  private val aggregation = new KeyedAggregation(plan)
  private val conditions = new KeyedConditions(plan, aggregation)

  private def row(number: Option[Long]): UnsafeRow = Sample(number, None, None, None).record

  private def holds(column: Int, window: Seq[Option[Long]], value: Option[Long]): Boolean = {
    val accumulator =
      window.foldLeft(aggregation.create())((sum, value) => aggregation.add(sum, row(value)))
    conditions.condition(column).among(accumulator)(row(value))
  }

  test("a predicate on a row does not read the accumulator, and null counts as false") {
    assert(!conditions.condition(4).readsAccumulator)
    assert(holds(4, Nil, Some(4L)))
    assert(!holds(4, Nil, Some(3L)))
    assert(!holds(4, Nil, None))
  }

  test("a predicate reads emitted and hidden aggregates of the window") {
    assert(conditions.condition(5).readsAccumulator)
    assert(holds(5, Seq(Some(1L), Some(9L)), Some(8L)))
    assert(!holds(5, Seq(Some(1L), Some(9L)), Some(9L)))
    assert(!holds(5, Seq(Some(9L)), Some(1L)))
    // The maximum of nulls is null.
    assert(!holds(5, Seq(None, None), Some(1L)))
  }

  test("a distance function receives the older row first, and a null distance becomes NaN") {
    val distance = conditions.delta(6)
    assertEquals(distance(row(Some(3L)), row(Some(10L))), 7.0)
    assertEquals(distance(row(Some(10L)), row(Some(3L))), -7.0)
    assert(distance(row(None), row(Some(3L))).isNaN)
  }
}
