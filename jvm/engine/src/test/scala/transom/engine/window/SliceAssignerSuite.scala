package transom.engine.window

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

class SliceAssignerSuite extends ScalaCheckSuite {
  private val Second = 1000000L
  // Clocks in New York went back by an hour on 2024-11-03, at 06:00 UTC.
  private val ClocksGoBack = 1730613600L * Second

  private val windows = Gen.oneOf[GridWindow](
    Tumbling(600 * Second),
    Hopping(1800 * Second, 700 * Second),
    Hopping(300 * Second, 700 * Second),
    Cumulate(3600 * Second, 600 * Second, timeZone = "America/New_York"),
    Tumbling(1800 * Second, timeZone = "America/New_York"),
    Calendar(CalendarUnit.Day, "America/New_York"))

  private val times = Gen.choose(-7200L, 7200L).map(ClocksGoBack + _ * Second)

  property("the windows of a row alone decide whether it is late, not earlier rows") {
    forAll(windows, times, Gen.nonEmptyListOf(times)) { (window, watermark, rows) =>
      val grid = window.grid
      val lateness = new GridSlices(Vector(grid)).lateness()
      rows.filter(grid.sliceOf(_) != Grid.NoSlice).foreach { time =>
        val ends = grid.windowsOf(time).map(grid.endOf)
        assertEquals(
          lateness.isLate(time, grid.sliceOf(time), watermark),
          ends.forall(_ <= watermark))
        assertEquals(
          lateness.isPartlyLate(grid.sliceOf(time), watermark),
          ends.exists(_ <= watermark))
      }
    }
  }

  property("a session row is late if a session of this row alone has closed") {
    forAll(times, Gen.nonEmptyListOf(times)) { (watermark, rows) =>
      val sessions = new SessionSlices(600 * Second, inclusive = false)
      val lateness = sessions.lateness()
      rows.foreach { time =>
        val isClosed = time + 600 * Second <= watermark
        assertEquals(lateness.isLate(time, sessions.sliceOf(time), watermark), isClosed)
      }
    }
  }
}
