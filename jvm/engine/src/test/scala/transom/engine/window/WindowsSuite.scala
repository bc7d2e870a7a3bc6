package transom.engine.window

import java.time.DayOfWeek

import munit.FunSuite

import transom.engine.firing.AfterCount
import transom.engine.setting.{Durations, InvalidSpec, Refusal}
import transom.engine.spec.EventTime

class WindowsSuite extends FunSuite {

  private val Day = 86400000000L

  private def fieldAtFault(build: => Any): String = Refusal.fieldOf(build)

  test("a duration is split into units") {
    assertEquals(Durations.text(0L), "0 seconds")
    assertEquals(
      Durations.text(90061001001L),
      "1 day 1 hour 1 minute 1 second 1 millisecond 1 microsecond")
    assertEquals(Durations.text(-7200000000L), "-2 hours")
  }

  test("lengths must be positive") {
    assertEquals(fieldAtFault(Tumbling(0)), "size_us")
    assertEquals(fieldAtFault(Hopping(-2, 1)), "size_us")
    assertEquals(fieldAtFault(Hopping(2, 0)), "slide_us")
    assertEquals(fieldAtFault(Cumulate(2, -1)), "step_us")
    assertEquals(
      fieldAtFault(Calendar(CalendarUnit.Day, "UTC", firstDay = DayOfWeek.SUNDAY)),
      "first_day")
    assertEquals(fieldAtFault(Calendar(CalendarUnit.Day, "UTC", every = 0)), "every")
    assertEquals(fieldAtFault(Session(0)), "gap_us")
    assertEquals(fieldAtFault(Session(1, maxDurationUs = Some(0))), "max_duration_us")
    assertEquals(fieldAtFault(DynamicSession(0, maxDurationUs = Some(-1))), "max_duration_us")
    assertEquals(fieldAtFault(AfterCount(0)), "rows")
    assertEquals(fieldAtFault(EventTime(0, Some(-1))), "delay_us")
  }

  test("the absolute value of an offset must be smaller than the period") {
    assertEquals(fieldAtFault(Tumbling(10, offsetUs = 10)), "offset_us")
    assertEquals(fieldAtFault(Tumbling(10, offsetUs = -10)), "offset_us")
    assertEquals(fieldAtFault(Hopping(10, 4, offsetUs = 4)), "offset_us")
    assertEquals(fieldAtFault(Cumulate(10, 5, offsetUs = -10)), "offset_us")
    assertEquals(
      fieldAtFault(Calendar(CalendarUnit.Month, "UTC", offsetUs = 28 * Day)),
      "offset_us")
    Tumbling(10, offsetUs = -9)
    Hopping(10, 4, offsetUs = 3)
    Calendar(CalendarUnit.Month, "UTC", every = 2, offsetUs = 28 * Day)
  }

  test("the size of cumulative windows is a multiple of the step") {
    assertEquals(fieldAtFault(Cumulate(5, 2)), "size_us")
  }

  test("a slide may exceed the size and need not divide it") {
    Hopping(2, 5)
    Hopping(5, 2)
  }

  test("a row may belong to at most ten million windows") {
    Hopping(10000000, 1)
    assertEquals(fieldAtFault(Hopping(10000001, 1)), "slide_us")
  }

  test("a session without a maximum duration has no check of it") {
    assertEquals(fieldAtFault(Session(5, maxCheck = MaxCheck.Above)), "max_duration_us")
    Session(5, maxCheck = MaxCheck.Above, maxDurationUs = Some(1))
  }

  test("windows without ids differ") {
    def windows(ids: Option[String]*) = Windows(ids.map(NamedWindow(_, Tumbling(10))))
    assertEquals(fieldAtFault(windows(None, None)), "windows")
    windows(Some("one"), Some("other"))
  }

  test("a row may belong to at most ten million count windows") {
    Count(10000000, Some(1))
    assertEquals(fieldAtFault(Count(10000001, Some(1))), "slide")
    Count(10000001, Some(1), partial = true)
  }

  test("a time zone must exist") {
    assertEquals(fieldAtFault(Tumbling(5, timeZone = "Europe/Atlantis")), "time_zone")
    assertEquals(fieldAtFault(Calendar(CalendarUnit.Day, "")), "time_zone")
  }

  test("the error says what is wrong") {
    val error = intercept[InvalidSpec](Tumbling(-5))
    assertEquals(error.getMessage, "size_us must be positive, but is -5")
  }
}
