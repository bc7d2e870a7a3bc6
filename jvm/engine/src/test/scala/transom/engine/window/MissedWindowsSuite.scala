package transom.engine.window

import scala.collection.mutable.ArrayBuffer

import munit.FunSuite

import transom.engine.time.{Ticks, Timeline}

/** The windows that a late row lists. */
class MissedWindowsSuite extends FunSuite {
  private val Second = 1000000L
  private val ofDay = Hopping(Ticks.PerDay, Second)

  private def seconds(from: Long, until: Long): Vector[TimeWindow] =
    (from until until).map(i => TimeWindow(i * Second, (i + 1) * Second)).toVector

  test("a row lists the first 1,000 of its windows, and says that there are more") {
    assertEquals(
      MissedWindows.inOrder(seconds(0, 1000).iterator),
      MissedWindows(seconds(0, 1000), isTruncated = false))
    assertEquals(
      MissedWindows.inOrder(seconds(0, 1001).iterator),
      MissedWindows(seconds(0, 1000), isTruncated = true))
    assertEquals(
      MissedWindows.inAnyOrder(seconds(0, 1500).reverseIterator),
      MissedWindows(seconds(0, 1000), isTruncated = true))
  }

  test("several windows list the first 1,000 of all of them") {
    val parts = Seq(
      MissedWindows.inOrder(seconds(100, 3000).iterator),
      MissedWindows.inOrder(seconds(0, 50).iterator))
    assertEquals(
      MissedWindows.merged(parts),
      MissedWindows(seconds(0, 50) ++ seconds(100, 1050), isTruncated = true))
    assert(!MissedWindows.merged(Seq(MissedWindows.of(TimeWindow(0, 1)))).isTruncated)
    // The first part has already left windows out, although the lists have 1,000 windows together.
    val truncated = MissedWindows(seconds(0, 10), isTruncated = true)
    assert(MissedWindows.merged(Seq(truncated)).isTruncated)
  }

  test("a late row of the slice log takes as many steps as it lists windows") {
    val grid = new CountingGrid(ofDay.grid)
    val missed = new GridSlices(Vector(grid)).missed(0L, Long.MaxValue)
    assertEquals(missed.listed.length, 1000)
    assert(missed.isTruncated)
    assertEquals(missed.listed.head, TimeWindow(Second - Ticks.PerDay, Second))
    assert(grid.steps < 1100, grid.steps)
  }

  test("the windows of several grids are listed in the order of their ends") {
    val grids = Vector(Tumbling(60 * Second).grid, ofDay.grid)
    val missed = new GridSlices(grids).missed(0L, 100 * Second)
    assertEquals(missed.listed.length, 101)
    assert(!missed.isTruncated)
    assertEquals(missed.listed.map(_.end).sorted, missed.listed.map(_.end))
    assert(missed.listed.contains(TimeWindow(0L, 60 * Second)))
  }

  test("a late row of the keyed layout takes as many steps as it lists windows") {
    val grid = new CountingGrid(ofDay.grid)
    val assigner = new GridAssigner(grid, Timeline.Event)
    val (row, windows) = (new RowContext, ArrayBuffer.empty[TimeWindow])
    row.time = 0L
    val closed = assigner.assignOpen(row, 0L, Ticks.PerDay, windows)
    assertEquals(windows.length, 0)
    assert(!closed.isEmpty)
    assertEquals(MissedWindows.inOrder(closed.iterator).listed.length, 1000)
    assert(grid.steps < 1100, grid.steps)
  }
}
