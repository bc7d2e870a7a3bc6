package transom.engine.keyed

import munit.FunSuite

import transom.engine.conformance.driver.{Fired, JsonAggregation, KeyedRunner, Row, Specs}
import transom.engine.conformance.vector.Json
import transom.engine.firing.{AfterClock, AfterCount, AfterDelta, AfterWatermark, Condition, Conditions, Delta, EndOfStream, Every, EveryBatch, Evictor, KeepLast, Never, ProcessingTimeout, Purging, Trigger, When}
import transom.engine.keyed.contract._
import transom.engine.runtime.RowCounts
import transom.engine.setting.InvalidSpec
import transom.engine.time.Timeline
import transom.engine.window.{Count, Global, Session, TimeWindow, Tumbling, Window}

class KeyedOperatorSuite extends FunSuite {

  private type Plan = KeyedPlan[Row, Vector[Json]]

  private def sum(values: Seq[Json]): Long = values.map(_.long).sum

  private object LargeRow extends Conditions[Row, Vector[Json]] {
    override def condition(column: Int): Condition[Row, Vector[Json]] =
      values => row => row.value.long + sum(values) >= 20
    override def delta(column: Int): Delta[Row] =
      (older, newer) => (newer.value.long - older.value.long).toDouble
  }

  private def runner(
      window: Window,
      trigger: Trigger = AfterWatermark(),
      evictor: Option[Evictor] = None,
      timeline: Timeline = Timeline.Event)(change: Plan => Plan = identity): KeyedRunner = {
    val aggregation = new JsonAggregation(values => Seq(sum(values)))
    new KeyedRunner(window, timeline)(contents =>
      change(KeyedPlan.of(window, timeline, trigger, evictor, aggregation, contents, LargeRow)))
  }

  private def row(time: Long, value: Long, clock: Long = 0L): Row =
    Row(Json.parse("0"), Json.parse(value.toString), Some(time), 0L, clock)

  /** Processes a row that arrives at `watermark`. Returns the sums of the results. */
  private def processRow(
      runner: KeyedRunner,
      time: Long,
      value: Long,
      watermark: Long = Long.MinValue,
      clock: Long = 0L): Seq[Long] = {
    runner.process(Seq(row(time, value, clock)), watermark)
    runner.takeFired().map(fired => sum(fired.values))
  }

  private def changes(fired: Seq[Fired]): Seq[(Change, TimeWindow, Any)] =
    fired.map(result => (result.change.get, result.window, result.reported.get.head))

  test("a trigger that cannot merge is rejected for merging windows") {
    Seq(AfterDelta(0, 1.0), Purging(ProcessingTimeout(AfterCount(1), 1))).foreach { trigger =>
      assertEquals(trigger.canMerge, false)
      assertEquals(intercept[InvalidSpec](runnerOf(Session(5), trigger)).field, "trigger")
      runnerOf(Tumbling(5), trigger)
    }
  }

  private def runnerOf(window: Window, trigger: Trigger): Unit =
    runner(window, trigger)().process(Seq(row(0, 0)), Long.MinValue): Unit

  test("a changed result retracts the previous one, and an unchanged result is not emitted") {
    val operator = runner(Tumbling(10), Every(2))(_.copy(retracts = true))
    val window = TimeWindow(0, 10)
    processRow(operator, 0, 1)
    assertEquals(changes(operator.fire(5)), Seq((Change.Insert, window, 1L)))
    processRow(operator, 5, 2, watermark = 5)
    assertEquals(
      changes(operator.fire(10)),
      Seq((Change.UpdateBefore, window, 1L), (Change.UpdateAfter, window, 3L)))
    assert(operator.isEmpty)
    assertEquals(operator.counts(RowCounts.WindowsFired), 2L)
  }

  test("merged sessions retract their results with the earlier bounds") {
    val operator = runner(Session(5), AfterCount(1))(_.copy(retracts = true))
    processRow(operator, 0, 1)
    processRow(operator, 8, 2)
    operator.process(Seq(row(4, 4)), Long.MinValue)
    assertEquals(
      changes(operator.takeFired()),
      Seq(
        (Change.UpdateBefore, TimeWindow(0, 5), 1L),
        (Change.UpdateBefore, TimeWindow(8, 13), 2L),
        (Change.UpdateAfter, TimeWindow(0, 13), 7L)))
    // Each row has given a result. The third one has replaced the other two.
    assertEquals(operator.counts(RowCounts.WindowsFired), 3L)
  }

  test("each session that a check closes is one result") {
    val operator = new KeyedRunner(Specs.of(Session(5, maxDurationUs = Some(10))))
    Seq(3L, 7L, 12L, 17L, 18L, 22L).foreach(time => operator.process(Seq(row(time, 1)), 0))
    assertEquals(operator.fire(100).map(_.window), Seq(TimeWindow(3, 20), TimeWindow(20, 27)))
    assertEquals(operator.counts(RowCounts.WindowsFired), 2L)
  }

  test("panes are early, on time and late, and the pane of the cleanup is the last") {
    val trigger = AfterWatermark(early = Some(AfterCount(1)))
    val operator = runner(Tumbling(10), trigger)(_.copy(allowedLateness = 5, countsPanes = true))
    operator.process(Seq(row(0, 1)), Long.MinValue)
    operator.advance(10)
    operator.process(Seq(row(1, 1)), 12)
    assertEquals(
      operator.takeFired().map(_.pane.get),
      Seq(
        PaneInfo(0, Timing.Early, isLast = false, None, Cause.Rows),
        PaneInfo(1, Timing.OnTime, isLast = false, None, Cause.Watermark),
        PaneInfo(2, Timing.Late, isLast = false, None, Cause.Rows)))
    operator.advance(15)
    assert(operator.isEmpty)
    val brief = runner(Tumbling(10))()
    brief.process(Seq(row(0, 1)), Long.MinValue)
    assertEquals(
      brief.fire(10).map(_.pane.get),
      Seq(PaneInfo(0, Timing.OnTime, isLast = true, None, Cause.Watermark)))
  }

  test("the idle timeout is the cause only of firings that the watermark alone does not cause") {
    val operator = runner(Tumbling(10))()
    operator.process(Seq(row(0, 1), row(12, 1)), Long.MinValue)
    operator.advanceIdle(20, 19)
    assertEquals(operator.takeFired().map(_.pane.get.cause), Seq(Cause.Watermark, Cause.Idle))
    val session = new KeyedRunner(Specs.of(Session(5, maxDurationUs = Some(10))))
    session.process(Seq(row(3, 1), row(12, 1)), Long.MinValue)
    session.advanceIdle(17, 8)
    assertEquals(session.takeFired().map(_.pane.get.cause), Seq(Cause.Watermark, Cause.Idle))
    session.process(Seq(row(18, 1)), 17)
    assertEquals(session.fire(23).map(_.pane.get.cause), Seq(Cause.Watermark))
  }

  test(
    "an event-time window with AfterClock ends without a result, unless the input ends first") {
    def waiting() = {
      val operator = runner(Tumbling(10), AfterClock)(_.copy(countsPanes = true))
      processRow(operator, 0, 1)
      operator
    }
    val closed = waiting()
    assertEquals(closed.fire(10).length, 0)
    assert(closed.isEmpty)
    val ended = waiting()
    assertEquals(
      ended.fire(Long.MaxValue).map(_.pane.get),
      Seq(PaneInfo(0, Timing.OnTime, isLast = true, None, Cause.Drain)))
  }

  test("full count windows fire with their number and the times of their rows") {
    val operator = runner(Count(size = 3, slide = Some(2)))(_.copy(countsPanes = true))
    (1L to 6L).foreach(i => operator.process(Seq(row(10 * i, i)), Long.MinValue))
    val fired = operator.takeFired()
    assertEquals(fired.map(result => sum(result.values)), Seq(6L, 12L))
    assertEquals(fired.map(_.window), Seq(TimeWindow(10, 30), TimeWindow(30, 50)))
    assertEquals(fired.map(_.pane.get.number), Seq(Some(0L), Some(1L)))
  }

  test("partial count windows fire every slide rows over the last size rows") {
    val operator = runner(Count(size = 3, slide = Some(2), partial = true))()
    assertEquals((1L to 6L).flatMap(i => processRow(operator, i, i)), Seq(3L, 9L, 15L))
  }

  test("the end of a window is emitted once, after its last result") {
    val late = runner(Tumbling(10), Purging(AfterWatermark()))(
      _.copy(allowedLateness = 5, reportsGone = true))
    processRow(late, 0, 1)
    assertEquals(late.fire(10).size, 1)
    assertEquals(late.takeEnded(), Seq.empty)
    processRow(late, 1, 2, watermark = 10)
    assertEquals(late.fire(15).size, 0)
    assertEquals(late.takeEnded(), Seq(TimeWindow(0, 10)))

    val ended = runner(Tumbling(10), Never, timeline = Timeline.Clock)(_.copy(reportsGone = true))
    processRow(ended, 3, 1, clock = 3)
    ended.tick(10)
    assertEquals((ended.takeFired(), ended.takeEnded()), (Seq.empty, Seq(TimeWindow(0, 10))))

    val full = runner(Count(size = 2))(_.copy(reportsGone = true))
    (1L to 5L).foreach(i => processRow(full, i, i))
    assertEquals(full.takeEnded(), Seq(TimeWindow(1, 2), TimeWindow(3, 4)))

    // A window without end stays open when it is empty.
    val purged = runner(Global, Purging(AfterCount(1)))(_.copy(reportsGone = true))
    assertEquals(processRow(purged, 0, 1), Seq(1L))
    assertEquals(purged.takeEnded(), Seq.empty)
  }

  test("count windows without overlap leave no state") {
    val operator = runner(Count(size = 2))()
    assertEquals((1L to 4L).flatMap(i => processRow(operator, i, i)), Seq(3L, 7L))
    assert(operator.isEmpty)
  }

  test("a predicate reads the new row and its window, which includes the row") {
    val operator = runner(Tumbling(100), When(0))()
    assertEquals(Seq(4L, 4L, 7L).flatMap(processRow(operator, 1, _)), Seq(15L))
  }

  test("a predicate reads only the rows that the evictor has kept") {
    val operator = runner(Global, When(0), Some(KeepLast(1)))()
    assertEquals(processRow(operator, 0, 10), Seq(10L))
    assertEquals(processRow(operator, 0, 1), Seq.empty)
    assertEquals(processRow(operator, 0, 5), Seq(5L))
  }

  test("each window with new rows fires once at the end of the batch") {
    val operator = runner(Tumbling(10), EveryBatch)()
    operator.process(Seq(row(0, 1), row(1, 2), row(12, 4)), Long.MinValue)
    assertEquals(operator.takeFired().map(fired => sum(fired.values)), Seq(3L, 4L))
    assertEquals(processRow(operator, 13, 8), Seq(12L))
  }

  test("a row meets its own watermark, and windows that this watermark closes fire first") {
    val operator = runner(Tumbling(10))()
    assertEquals(processRow(operator, 5, 1, watermark = 3), Seq.empty)
    assertEquals(processRow(operator, 12, 2, watermark = 10), Seq(1L))
    assertEquals(operator.process(Seq(row(9, 4)), 10).size, 1)
  }

  test("without a late trigger, late rows join the window but do not fire it") {
    val operator = runner(Tumbling(10), AfterWatermark(late = None))(_.copy(allowedLateness = 5))
    processRow(operator, 0, 1)
    assertEquals(operator.fire(10).size, 1)
    assertEquals(operator.process(Seq(row(1, 1)), 12), Seq.empty)
    assertEquals(operator.fire(15), Seq.empty)
  }

  test("the end of the input fires EndOfStream windows and removes all others") {
    val waiting = runner(Global, EndOfStream)()
    processRow(waiting, 0, 1)
    assertEquals(waiting.fire(1000), Seq.empty)
    val fired = waiting.fire(Long.MaxValue)
    assertEquals(fired.map(_.pane.get.cause), Seq(Cause.Drain))
    val never = runner(Global, Never)()
    processRow(never, 0, 1)
    assertEquals(never.fire(Long.MaxValue), Seq.empty)
    assert(waiting.isEmpty && never.isEmpty)
  }

  test("a window that is open when the input ends fires once by EndOfStream") {
    Seq(Tumbling(10), Session(10)).foreach { window =>
      Seq(0L, 100L).foreach { lateness =>
        def waiting() = {
          val operator = runner(window, EndOfStream)(_.copy(allowedLateness = lateness))
          processRow(operator, 0, 1)
          operator
        }
        val ended = waiting()
        assertEquals(ended.fire(Long.MaxValue).map(result => sum(result.values)), Seq(1L))
        assert(ended.isEmpty)
        val closed = waiting()
        assertEquals(closed.fire(10 + lateness), Seq.empty)
        assert(closed.isEmpty)
      }
    }
  }

  test("a global window with Every fires only a few times at the end of the input") {
    val operator = runner(Global, Every(10))()
    processRow(operator, 0, 1)
    assertEquals(operator.fire(11).size, 1)
    assertEquals(operator.fire(Long.MaxValue).size, 2)
  }

}
