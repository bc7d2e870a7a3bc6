package transom.engine.spec

import munit.FunSuite

import transom.engine.conformance.driver.Specs
import transom.engine.firing._
import transom.engine.window._

class LayoutRulesSuite extends FunSuite {
  private val tumbling = Specs.of(Tumbling(10))

  private def calling(aggregates: Seq[Int], windowState: Option[String] = None): Function =
    ApplyFunction("n int", RowsForm.Arrow, aggregates, windowState)

  test("the slice log supports aligned grids, sessions and the window of all rows") {
    val global = Specs.of(Global).copy(trigger = EndOfStream)
    // Without an allowed lateness, a late trigger never fires.
    val late = Seq(AfterCount(1), Purging(When(1)))
      .map(late => tumbling.copy(trigger = AfterWatermark(late = Some(late))))
    val called = tumbling.copy(function = calling(aggregates = Seq(1)))
    val windows = Seq(
      Hopping(10, 3),
      Cumulate(10, 5, closed = Closed.Right),
      Calendar(CalendarUnit.Day, "America/New_York"),
      Session(10))
    (windows.map(Specs.of(_)) ++ Seq(tumbling, global, called) ++ late).foreach { spec =>
      assertEquals(LayoutRules.unsupportedBySlices(spec), None, spec)
    }
  }

  test("the first part of a spec that the slice log does not support is named") {
    Seq(
      Specs.of(Tumbling(10, stagger = Stagger.Random)) -> "the stagger of Tumbling windows",
      Specs.of(DynamicSession(0)) -> "a gap for each row",
      Specs.of(Session(10, lateStart = LateStart.Reject)) -> "late_start='reject'",
      Specs.of(Session(10, maxDurationUs = Some(60))) -> "max_duration",
      Specs.of(DynamicSession(0, maxDurationUs = Some(60))) -> "max_duration",
      Specs.of(Count(10)) -> "Count windows",
      Specs.of(Custom(0)) -> "Custom windows",
      Specs.of(Snapshot()) -> "Snapshot windows",
      Specs.of(Rolling(10)) -> "Rolling windows",
      Specs.of(CountByStart(2)) -> "CountByStart windows",
      tumbling.copy(lifetime = Some(Lifetime(endColumn = Some(1)))) -> "lifetimes",
      Specs.of(Tumbling(10), ProcessingTime) -> "ProcessingTime()",
      tumbling.copy(trigger = Every(5)) -> "the trigger Every",
      tumbling.copy(trigger = AfterWatermark(early = Some(AfterCount(1)))) ->
        "the trigger AfterWatermark",
      tumbling.copy(trigger = AfterLateness) -> "the trigger AfterLateness",
      tumbling.copy(trigger = EveryBatch) -> "the trigger EveryBatch",
      tumbling.copy(trigger = EndOfStream) -> "the trigger EndOfStream",
      Specs.of(Global).copy(trigger = AfterCount(1)) -> "the trigger AfterCount",
      Specs.of(Tumbling(10), allowedLateness = 1) -> "an allowed_lateness() above 0",
      tumbling.copy(evictor = Some(KeepLast(1))) -> "evictor()",
      tumbling.copy(retract = true) -> "retract()",
      tumbling.copy(pane = true) -> "with_pane()",
      tumbling.copy(function = calling(aggregates = Nil)) -> "apply() without agg=",
      tumbling.copy(function = calling(Seq(1), windowState = Some("n int"))) -> "window_state",
      tumbling.copy(pane = true, retract = true) -> "retract()")
      .foreach { case (spec, part) =>
        assertEquals(LayoutRules.unsupportedBySlices(spec), Some(part), spec)
      }
  }

  test("the keyed layout combines rows of aligned grids whose windows fire at their end") {
    val late = AfterWatermark(late = Some(AfterCount(1)))
    val lateHops = Specs.of(Hopping(10, 3), allowedLateness = 5).copy(trigger = late)
    val called = tumbling.copy(function = calling(aggregates = Seq(1)))
    Seq(
      tumbling,
      lateHops,
      lateHops.copy(trigger = AfterLateness),
      lateHops.copy(pane = true, retract = true),
      called)
      .foreach(spec => assert(LayoutRules.canCombineSlices(spec), spec))
  }

  test("the keyed layout does not combine rows whose order or number may matter") {
    Seq(
      Specs.of(Session(10)),
      Specs.of(Tumbling(10, stagger = Stagger.Natural)),
      tumbling.copy(trigger = Every(5)),
      tumbling.copy(trigger = AfterWatermark(early = Some(AfterCount(1)))),
      tumbling.copy(trigger = AfterWatermark(late = Some(Every(1)))),
      tumbling.copy(evictor = Some(KeepLast(1))),
      tumbling.copy(function = calling(aggregates = Nil)),
      tumbling.copy(orderColumns = Seq(3)),
      tumbling.copy(lifetime = Some(Lifetime(durationUs = Some(5)))),
      Specs.of(Snapshot()),
      Specs.of(Rolling(10)),
      Specs.of(CountByStart(2)))
      .foreach(spec => assert(!LayoutRules.canCombineSlices(spec), spec))
  }
}
