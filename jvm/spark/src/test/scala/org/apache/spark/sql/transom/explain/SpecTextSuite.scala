package org.apache.spark.sql.transom.explain

import java.time.DayOfWeek

import munit.FunSuite

import transom.engine.firing.{AfterLateness, AfterWatermark, Every, KeepLast, Purging, TriggerClock, When}
import transom.engine.window._

class SpecTextSuite extends FunSuite {
  private val text = new SpecText(Seq("gap INTERVAL", "(n > 3) BOOLEAN"))

  test("a part is described by its kind and its fields, without the defaults") {
    assertEquals(
      text.of(Hopping(sizeUs = 3600000000L, slideUs = 1500000000L, offsetUs = -90000000L)),
      "hopping, size 1 hour, slide 25 minutes, offset -1 minute -30 seconds, time zone UTC")
    assertEquals(
      text.of(Tumbling(60000000L, closed = Closed.Right, timeZone = "America/New_York")),
      "tumbling, size 1 minute, closed right, time zone America/New_York")
    assertEquals(
      text.of(Calendar(CalendarUnit.Week, "UTC", firstDay = DayOfWeek.SUNDAY)),
      "calendar, unit week, time zone UTC, every 1, first day sunday")
    assertEquals(text.of(Global), "global")
    assertEquals(
      text.of(Session(60000000L, lateStart = LateStart.Reject)),
      "session, gap 1 minute, inclusive true, late start reject")
    assertEquals(
      text.of(Session(60000000L, maxDurationUs = Some(3600000000L), maxCheck = MaxCheck.Above)),
      "session, gap 1 minute, inclusive true, max duration 1 hour, max check above")
    assertEquals(text.of(Count(10, None, partial = false)), "count, size 10, partial false")
    assertEquals(text.of(Snapshot()), "snapshot")
    assertEquals(text.of(Snapshot(Closed.Right)), "snapshot, closed right")
    assertEquals(text.of(Rolling(600000000L)), "rolling, size 10 minutes")
    assertEquals(text.of(CountByStart(3)), "count by start, size 3")
    assertEquals(text.of(AfterLateness), "after lateness")
    assertEquals(text.of(KeepLast(3)), "keep last, rows 3, when before")
  }

  test("columns are described by their text, also in nested triggers") {
    assertEquals(text.of(DynamicSession(0)), "session, gap gap INTERVAL, inclusive true")
    assertEquals(text.of(Purging(When(1))), "purging, trigger when, condition (n > 3) BOOLEAN")
    assertEquals(
      text.of(AfterWatermark(early = Some(Every(30000000L, TriggerClock.Processing)))),
      "after watermark, early every, interval 30 seconds, clock processing, aligned true, " +
        "late after count, rows 1")
  }
}
