package transom.engine.spec

import munit.FunSuite

import transom.engine.conformance.driver.Specs

class WindowSpecSuite extends FunSuite {

  private val hours = Specs.of(Tumbling(3600000000L), lateRows = LateRows.No)

  private def fieldAtFault(build: => Any): String = intercept[InvalidSpec](build).field

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
}
