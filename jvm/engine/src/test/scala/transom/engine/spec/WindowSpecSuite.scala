package transom.engine.spec

import munit.FunSuite

import transom.engine.conformance.driver.Specs
import transom.engine.firing._
import transom.engine.setting.{InvalidSpec, Refusal}
import transom.engine.window._

class WindowSpecSuite extends FunSuite {

  private val hours = Specs.of(Tumbling(3600000000L), lateRows = LateRows.No)

  private def fieldAtFault(build: => Any): String = Refusal.fieldOf(build)

  test("only some triggers react to a row before the watermark advances") {
    def fires(trigger: Trigger, lateness: Long = 0L) =
      hours.copy(trigger = trigger, allowedLatenessUs = lateness).firesOnRows
    assert(!fires(AfterWatermark()))
    assert(!fires(AfterLateness))
    assert(!fires(Every(5)))
    assert(!fires(Never))
    assert(!fires(AfterWatermark(early = Some(Every(5)))))
    assert(fires(AfterCount(2)))
    assert(fires(When(1)))
    assert(fires(AfterDelta(1, 1.0)))
    assert(fires(Purging(AfterCount(2))))
    assert(fires(AfterWatermark(early = Some(AfterCount(2)))))
    // A late row fires its window again. Without an allowed lateness no late row reaches a window.
    assert(!fires(AfterWatermark(late = Some(AfterCount(2)))))
    assert(fires(AfterWatermark(), lateness = 5))
    assert(fires(AfterWatermark(late = Some(AfterCount(2))), lateness = 5))
    assert(hours.copy(window = Count(4), trigger = AfterCount(4)).firesOnRows)
    assert(Specs.of(Tumbling(10), ProcessingTime).firesOnRows)
    // Each row may move the watermark of its substream.
    assert(!hours.copy(time = Some(policy)).firesOnRows)
    assert(hours.copy(time = Some(policy.copy(overColumns = Seq(2)))).firesOnRows)
  }

  test("results with a lateness or at steps of the watermark depend on the rows before") {
    def fires(trigger: Trigger, lateness: Long = 0L) =
      hours.copy(trigger = trigger, allowedLatenessUs = lateness).firesBetweenRows
    assert(!fires(AfterWatermark()))
    assert(!fires(AfterWatermark(early = Some(AfterCount(2)))))
    assert(!fires(AfterWatermark(early = Some(Every(5, TriggerClock.Processing)))))
    assert(fires(AfterWatermark(), lateness = 5))
    assert(fires(AfterWatermark(early = Some(Every(5)))))
    assert(fires(Purging(Every(5))))
  }

  test("rows wait only for the ends of windows") {
    assert(hours.rowsMayWait)
    assert(hours.copy(time = Some(policy)).rowsMayWait)
    assert(hours.copy(window = Session(5)).rowsMayWait)
    assert(hours.copy(trigger = AfterWatermark(late = Some(AfterCount(2)))).rowsMayWait)
    def early(trigger: Trigger) = AfterWatermark(early = Some(trigger))
    Seq(
      hours.copy(trigger = AfterCount(2)),
      hours.copy(trigger = early(AfterCount(2))),
      hours.copy(trigger = early(Every(5))),
      hours.copy(trigger = early(Every(5, TriggerClock.Processing))),
      hours.copy(trigger = Purging(Every(5, TriggerClock.Processing))),
      hours.copy(allowedLatenessUs = 5),
      hours.copy(time = Some(policy), idleTimeout = Some(IdleTimeout(1, IdleRule.LastRow))),
      hours.copy(time = Some(policy.copy(idlePartitionUs = Some(5), partitionColumn = Some(3)))),
      hours.copy(time = Some(policy.copy(overColumns = Seq(2)))),
      Specs.of(Tumbling(10), ProcessingTime)).foreach(spec => assert(!spec.rowsMayWait, spec))
  }

  test("EveryBatch cannot be nested in another trigger") {
    assertEquals(fieldAtFault(AfterWatermark(early = Some(EveryBatch))), "early")
    assertEquals(fieldAtFault(AfterWatermark(late = Some(EveryBatch))), "late")
    assertEquals(fieldAtFault(Purging(EveryBatch)), "trigger")
    assertEquals(fieldAtFault(ProcessingTimeout(EveryBatch, 1)), "trigger")
  }

  test("early and late triggers cannot fire at the end of the window") {
    Seq(AfterWatermark(), AfterClock, AfterLateness, Purging(AfterWatermark())).foreach { inner =>
      assertEquals(fieldAtFault(AfterWatermark(early = Some(inner))), "early")
      assertEquals(fieldAtFault(AfterWatermark(late = Some(inner))), "late")
    }
    Purging(AfterWatermark(early = Some(Purging(AfterCount(1))), late = None))
    ProcessingTimeout(AfterWatermark(), 1)
  }

  test("triggers that cannot merge are rejected for merging windows") {
    Seq(AfterDelta(1, 1.0), Purging(ProcessingTimeout(Never, 1))).foreach { trigger =>
      Seq(Session(1), DynamicSession(1), Custom(1, merging = true)).foreach { window =>
        assertEquals(fieldAtFault(hours.copy(window = window, trigger = trigger)), "trigger")
      }
      hours.copy(window = Custom(1), trigger = trigger)
    }
  }

  test("watermark triggers need event time") {
    Seq(AfterWatermark(), AfterLateness, Purging(Every(1)), AfterWatermark(early = Some(Never)))
      .foreach { trigger =>
        Seq(None, Some(ProcessingTime)).foreach { time =>
          assertEquals(fieldAtFault(hours.copy(time = time, trigger = trigger)), "trigger")
        }
      }
    hours.copy(time = Some(ProcessingTime), trigger = Every(1, TriggerClock.Processing))
  }

  test("count windows accept only the trigger that fires when they are full") {
    val full = hours.copy(window = Count(4, Some(2)), trigger = AfterCount(4))
    full.copy(window = Count(4, Some(2), partial = true), trigger = AfterCount(2))
    assertEquals(fieldAtFault(full.copy(trigger = AfterCount(2))), "trigger")
    assertEquals(fieldAtFault(full.copy(trigger = Never)), "trigger")
    assertEquals(fieldAtFault(full.copy(trigger = AfterLateness)), "trigger")
  }

  test("settings that exclude each other are rejected") {
    val evicting = hours.copy(evictor = Some(KeepLast(1)))
    assertEquals(fieldAtFault(evicting.copy(trigger = EveryBatch)), "evictor")
    assertEquals(fieldAtFault(evicting.copy(retract = true)), "retract")
    assertEquals(
      fieldAtFault(hours.copy(trigger = Purging(AfterWatermark()), retract = true)),
      "retract")
    val partial = hours.copy(window = Count(4, partial = true), trigger = AfterCount(4))
    assertEquals(fieldAtFault(partial.copy(retract = true)), "retract")
    assertEquals(fieldAtFault(partial.copy(evictor = Some(KeepLast(1)))), "evictor")
    val stateful = ApplyFunction("n int", RowsForm.Arrow, Nil, windowState = Some("n int"))
    assertEquals(
      fieldAtFault(hours.copy(window = Session(1), function = stateful)),
      "window_state")
    hours.copy(function = stateful)
    hours.copy(trigger = EveryBatch, retract = true)
  }

  test("sessions with a maximum duration fire once, at their end") {
    Seq(Session(1, maxDurationUs = Some(9)), DynamicSession(1, maxDurationUs = Some(9))).foreach {
      window =>
        val sessions = hours.copy(window = window)
        Seq(AfterWatermark(late = None), AfterLateness, AfterClock, AfterCount(2), EndOfStream)
          .foreach { trigger =>
            assertEquals(fieldAtFault(sessions.copy(trigger = trigger)), "trigger")
          }
        assertEquals(fieldAtFault(sessions.copy(evictor = Some(KeepLast(1)))), "evictor")
        assertEquals(fieldAtFault(sessions.copy(retract = true)), "retract")
        assertEquals(fieldAtFault(sessions.copy(allowedLatenessUs = 1)), "allowed_lateness_us")
        sessions.copy(time = Some(ProcessingTime), trigger = AfterClock)
    }
  }

  private val ending = Some(Lifetime(endColumn = Some(1)))
  private val grids =
    Seq(
      Tumbling(10),
      Hopping(10, 3),
      Hopping(3, 10),
      Cumulate(10, 5),
      Calendar(CalendarUnit.Day, "UTC"))

  /** Specs whose windows a sweep finds. */
  private val swept =
    Seq(Snapshot(), Rolling(10), CountByStart(2)).map(window => hours.copy(window = window)) ++
      (grids ++ Seq(Snapshot(Closed.Right), CountByStart(2))).map(window =>
        hours.copy(window = window, lifetime = ending))

  test("a lifetime has either an end or a duration") {
    Seq(
      Lifetime(endColumn = Some(1)),
      Lifetime(durationUs = Some(1)),
      Lifetime(durationColumn = Some(1))).foreach { lifetime =>
      assert(hours.copy(lifetime = Some(lifetime)).isSwept)
    }
    assertEquals(fieldAtFault(Lifetime()), "end_column")
    assertEquals(fieldAtFault(Lifetime(endColumn = Some(1), durationUs = Some(1))), "end_column")
    assertEquals(
      fieldAtFault(Lifetime(durationUs = Some(1), durationColumn = Some(1))),
      "end_column")
    assertEquals(fieldAtFault(Lifetime(durationUs = Some(0))), "duration_us")
  }

  test("windows between starts and ends, and windows of lifetimes, are swept") {
    swept.foreach(spec => assert(spec.isSwept, spec))
    (grids ++ Seq(Session(10), Custom(1))).foreach { window =>
      assert(!hours.copy(window = window).isSwept, window)
    }
  }

  test("windows of points in time take no lifetimes") {
    Seq[(Window, Trigger)](
      Rolling(10) -> AfterWatermark(),
      Session(1) -> AfterWatermark(),
      DynamicSession(1) -> AfterWatermark(),
      Custom(1) -> AfterWatermark(),
      Custom(1, merging = true) -> AfterWatermark(),
      Count(4) -> AfterCount(4),
      Global -> EndOfStream).foreach { case (window, trigger) =>
      val points = hours.copy(window = window, trigger = trigger)
      assertEquals(fieldAtFault(points.copy(lifetime = ending)), "lifetime", window)
    }
  }

  test("swept windows need event time") {
    swept.foreach { spec =>
      Seq(None, Some(ProcessingTime)).foreach { time =>
        assertEquals(fieldAtFault(spec.copy(time = time, trigger = AfterClock)), "time", spec)
      }
    }
  }

  test("swept windows fire once, at their end") {
    val stateful = ApplyFunction("n int", RowsForm.Arrow, Nil, windowState = Some("n int"))
    swept.foreach { spec =>
      Seq(AfterWatermark(late = None), AfterLateness, AfterCount(2), EndOfStream, EveryBatch)
        .foreach { trigger =>
          assertEquals(fieldAtFault(spec.copy(trigger = trigger)), "trigger", spec)
        }
      assertEquals(fieldAtFault(spec.copy(evictor = Some(KeepLast(1)))), "evictor", spec)
      assertEquals(fieldAtFault(spec.copy(retract = true)), "retract", spec)
      assertEquals(fieldAtFault(spec.copy(allowedLatenessUs = 1)), "allowed_lateness_us", spec)
      assertEquals(fieldAtFault(spec.copy(function = stateful)), "window_state", spec)
      spec.copy(pane = true, lateRows = LateRows.Partly, deadLetters = true)
    }
    Seq(Stagger.Random, Stagger.Natural).foreach { stagger =>
      val staggered = Tumbling(10, stagger = stagger)
      assertEquals(
        fieldAtFault(hours.copy(window = staggered, lifetime = ending)),
        "window.stagger")
    }
  }

  private val policy = TimePolicy(
    timeColumn = Some(0),
    arrivalColumn = Some(1),
    partitionColumn = None,
    partitions = Nil,
    overColumns = Nil,
    early = None,
    late = None,
    outOfOrder = Accept(0),
    advance = Periodic(Some(1), None),
    idlePartitionUs = None,
    estimateArrival = false)

  /** The spec with a setting of the table of exclusions. */
  private def withSetting(spec: WindowSpec, setting: Exclusions.Setting): WindowSpec = {
    def over(window: Window): WindowSpec = window match {
      case count: Count => spec.copy(window = count, trigger = count.requiredTrigger)
      case _ => spec.copy(window = window)
    }
    def calling(windowState: Option[String]): WindowSpec =
      spec.copy(function = ApplyFunction("n int", RowsForm.Arrow, Nil, windowState = windowState))
    setting match {
      case Exclusions.Trigger => spec.copy(trigger = AfterLateness)
      case Exclusions.AfterClock => spec.copy(trigger = AfterClock)
      case Exclusions.EveryBatch => spec.copy(trigger = EveryBatch)
      case Exclusions.Purging => spec.copy(trigger = Purging(AfterWatermark()))
      case Exclusions.Evictor => spec.copy(evictor = Some(KeepLast(1)))
      case Exclusions.Retract => spec.copy(retract = true)
      case Exclusions.Apply => calling(windowState = None)
      case Exclusions.ApplyRows => calling(windowState = None)
      case Exclusions.WindowState => calling(windowState = Some("n int"))
      case Exclusions.AllowedLateness => spec.copy(allowedLatenessUs = 1)
      case Exclusions.IdleTimeout =>
        spec.copy(idleTimeout = Some(IdleTimeout(1, IdleRule.LastRow)))
      case Exclusions.Slices => spec.copy(layout = Layout.Slices)
      case Exclusions.Watermarks => spec.copy(watermarks = true)
      case Exclusions.PointPolicy =>
        spec.copy(outputPolicy = Some(OutputPolicy.PointAlignToWindowEnd))
      case Exclusions.ClipPolicyOffGrid =>
        spec.copy(window = Session(1), outputPolicy = Some(OutputPolicy.ClipToWindowEnd))
      case Exclusions.ChangesOnly => spec.copy(changesOnly = true)
      case Exclusions.Lifetime => spec.copy(lifetime = ending)
      case Exclusions.LifetimeId =>
        spec.copy(lifetime = ending.map(_.copy(idColumns = Seq(2))))
      case Exclusions.NoEventTime =>
        spec.copy(time = Some(ProcessingTime), trigger = AfterClock)
      case Exclusions.ArrivalTime => spec.copy(time = Some(policy.copy(timeColumn = None)))
      case Exclusions.Substreams => spec.copy(time = Some(policy.copy(overColumns = Seq(2))))
      case Exclusions.Stagger => over(Tumbling(10, stagger = Stagger.Random))
      case Exclusions.MaxDuration => over(Session(1, maxDurationUs = Some(9)))
      case Exclusions.Count => over(Count(4))
      case Exclusions.PartialCount => over(Count(4, partial = true))
      case Exclusions.Global => spec.copy(window = Global, trigger = EndOfStream)
      case Exclusions.Windows => over(Windows(Seq(NamedWindow(None, Tumbling(10)))))
      case Exclusions.Snapshot => over(Snapshot())
      case Exclusions.CountByStart => over(CountByStart(2))
      case Exclusions.Swept => over(Rolling(10))
      case Exclusions.Points => over(Session(1))
      case Exclusions.WithoutWindowBefore => over(Custom(1))
    }
  }

  Exclusions.All.foreach { row =>
    for {
      setting <- row.settings
      other <- row.others
    } test(s"$setting excludes $other") {
      val judged = hours.copy(time = Some(policy))
      withSetting(judged, setting)
      val others = withSetting(judged, other)
      val error = intercept[InvalidSpec](withSetting(others, setting))
      val problem = s"cannot be used with ${other.text}: ${row.why}"
      assertEquals(error.field, setting.field)
      assertEquals(
        error.problem,
        problem.replace("<window>", others.window.members.head.productPrefix))
    }
  }
}
