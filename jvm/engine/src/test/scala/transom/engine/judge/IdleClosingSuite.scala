package transom.engine.judge

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.time.{Ticks, Watermark}
import transom.engine.window.{CountingGrid, Grid, GridModel, GridWindow, Hopping}

/** The windows that a tick closes while an input is silent. */
class IdleClosingSuite extends ScalaCheckSuite {

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(500))

  private val Second = 1000000L

  private def opened(spec: GridWindow, grid: Grid, times: Seq[Long]): OpenGridWindows = {
    val windows = new OpenGridWindows(grid, spec.convention)
    times.foreach(windows.add)
    windows
  }

  property("the last end is the largest one, by the bound, of the windows of all rows") {
    val distances = Gen.listOfN(8, Gen.choose(-2 * Ticks.PerDay, 2 * Ticks.PerDay))
    forAll(Generators.gridAndInstant, distances) { case ((spec, time), distances) =>
      val grid = spec.grid
      val convention = spec.convention
      val times = time +: distances.map(time + _)
      val windows = opened(spec, grid, times)
      val ends = times.map(convention.timeIn).flatMap(GridModel.windows(spec, _)).map(grid.endOf)
      (times ++ ends.take(20).flatMap(end => Seq(end - 1, end)) :+ Long.MaxValue).foreach {
        bound =>
          val expected = ends.filter(_ <= bound).maxOption.getOrElse(Watermark.NotYet)
          assertEquals(windows.lastEnd(bound), expected, (spec, bound))
      }
    }
  }

  test("the steps of a tick depend neither on the rows nor on how many windows overlap") {
    def steps(seconds: Long): Long = {
      val spec = Hopping(seconds * Second, Second, 0L)
      val grid = new CountingGrid(spec.grid)
      val windows = opened(spec, grid, (0L until seconds).map(_ * Second))
      val before = grid.steps
      // The first row is in `seconds` windows, and half of them end by the bound.
      val bound = seconds / 2 * Second
      assertEquals(windows.lastEnd(bound), bound)
      grid.steps - before
    }
    val ofMinute = steps(60)
    val ofSixHours = steps(6 * 3600)
    assert(ofSixHours <= ofMinute, (ofMinute, ofSixHours))
    assert(ofMinute < 20, ofMinute)
  }
}
