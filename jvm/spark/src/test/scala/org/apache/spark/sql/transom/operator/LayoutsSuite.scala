package org.apache.spark.sql.transom.operator

import munit.FunSuite
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.{Count => CountFunction, _}
import org.apache.spark.sql.transom.TestSpecs
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.types.LongType

import transom.engine.spec._

class LayoutsSuite extends FunSuite {
  private val hours = TestSpecs.hours
  private val n = AttributeReference("n", LongType)()
  private val rows = ApplyFunction("n int", RowsForm.Arrow, Nil)

  /** What the slice log does not support in a spec. */
  private def unsupported(spec: WindowSpec, functions: AggregateFunction*): Option[String] = {
    val choice = Layouts.choose(spec, functions)
    assertEquals(choice.layout == SliceLayout, choice.unsupportedBySlices.isEmpty)
    choice.unsupportedBySlices
  }

  test("windows on grids, sessions and Global windows are in the slice log") {
    Seq(
      Tumbling(60),
      Hopping(60, 10),
      Cumulate(60, 10),
      Calendar(CalendarUnit.Month, "UTC"),
      Session(60)).foreach(window => assertEquals(unsupported(hours.copy(window = window)), None))
    assertEquals(unsupported(hours.copy(window = Global, trigger = EndOfStream)), None)
  }

  test("the first part that the slice log does not support is named") {
    val clock = hours.copy(time = Some(ProcessingTime), trigger = AfterClock)
    Seq(
      hours.copy(window = Tumbling(60, stagger = Stagger.Random)) ->
        "the stagger of Tumbling windows",
      hours.copy(window = DynamicSession(0)) -> "a gap for each row",
      hours.copy(window = Count(4), trigger = AfterCount(4)) -> "Count windows",
      hours.copy(window = Custom(0)) -> "Custom windows",
      clock -> "ProcessingTime()",
      hours.copy(trigger = EveryBatch) -> "the trigger EveryBatch",
      hours.copy(trigger = AfterWatermark(early = Some(AfterCount(2)))) ->
        "the trigger AfterWatermark",
      hours.copy(allowedLatenessUs = 1L) -> "an allowed_lateness() above 0",
      hours.copy(evictor = Some(KeepLast(1))) -> "evictor()",
      hours.copy(retract = true) -> "retract()",
      hours.copy(pane = true) -> "with_pane()",
      hours.copy(function = rows) -> "apply() without agg=",
      hours.copy(function = rows.copy(aggregateColumns = Seq(2), windowState = Some("n int"))) ->
        "window_state",
      hours.copy(pane = true, retract = true) -> "retract()").foreach { case (spec, part) =>
      assertEquals(unsupported(spec), Some(part))
    }
  }

  test("a late trigger does not matter without an allowed lateness") {
    Seq(None, Some(AfterCount(1)), Some(Purging(When(1)))).foreach { late =>
      assertEquals(unsupported(hours.copy(trigger = AfterWatermark(late = late))), None)
    }
  }

  test("aggregates that depend on the order of rows need the keyed layout if there is an order") {
    val ordered = hours.copy(orderColumns = Seq(1))
    val list = new CollectList(n)
    assertEquals(unsupported(hours, list), None)
    assertEquals(
      unsupported(ordered, CountFunction(Seq(n)), new Sum(n), Min(n), new StddevSamp(n)),
      None)
    assertEquals(
      unsupported(ordered, CountFunction(Seq(n)), list),
      Some("collect_list() in the order of stream(order=)"))
  }

  test("a user may ask for the keyed layout, and for the slice log if it supports the spec") {
    val keyed = Layouts.choose(hours.copy(layout = Layout.Keyed), Nil)
    assertEquals(keyed, LayoutChoice(KeyedLayout, None))
    val slices = hours.copy(layout = Layout.Slices)
    assertEquals(Layouts.choose(slices, Nil), LayoutChoice(SliceLayout, None))
    val error = intercept[TransomException](Layouts.choose(slices.copy(pane = true), Nil))
    assertEquals(error.getCondition, "TRANSOM_LAYOUT_UNSUPPORTED")
    assertEquals(error.getMessageParameters.get("part"), "with_pane()")
  }

  test("the keyed layout combines rows if windows fire once in time and need no single row") {
    val combining = Seq(
      hours,
      hours.copy(trigger = AfterWatermark(late = None)),
      hours.copy(pane = true, allowedLatenessUs = 1L, retract = true),
      hours.copy(function = rows.copy(aggregateColumns = Seq(2))))
    val single = Seq(
      hours.copy(window = Session(60)),
      hours.copy(window = Tumbling(60, stagger = Stagger.Natural)),
      hours.copy(trigger = AfterWatermark(early = Some(AfterCount(3)))),
      hours.copy(trigger = AfterWatermark(late = Some(When(0)))),
      hours.copy(trigger = Every(60)),
      hours.copy(evictor = Some(KeepLast(1))),
      hours.copy(function = rows))
    combining.foreach(spec => assert(Layouts.canCombineSlices(spec), spec))
    single.foreach(spec => assert(!Layouts.canCombineSlices(spec), spec))
  }

  test("a function that the choice knows nothing about may depend on the order of rows") {
    val ordered = hours.copy(orderColumns = Seq(1))
    Seq(First(n, ignoreNulls = false), new CollectSet(n), MaxBy(n, Literal(1))).foreach {
      function => assert(unsupported(ordered, function).isDefined, function.prettyName)
    }
  }
}
