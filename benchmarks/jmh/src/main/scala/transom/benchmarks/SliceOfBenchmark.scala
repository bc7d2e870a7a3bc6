package transom.benchmarks

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import transom.engine.window.{Calendar, CalendarUnit, Cumulate, Grid, GridWindow, Hopping, Tumbling}

/** Cost of finding the slice of a row. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 15, time = 1)
class SliceOfBenchmark {
  private val minute = 60000000L

  @Param(Array("tumbling", "hopping", "cumulate", "tumbling-zone", "day-zone", "month-zone"))
  var shape: String = _

  private var grid: Grid = _
  private var instant = 1700000000000000L

  @Setup
  def makeGrid(): Unit = grid = window.grid

  /** The rows are 50 µs apart and slightly out of order. */
  @Benchmark
  def sliceOf(): Long = {
    instant += 50
    grid.sliceOf(instant ^ (instant & 0xffff) << 4)
  }

  private def window: GridWindow = shape match {
    case "tumbling" => Tumbling(minute)
    case "hopping" => Hopping(minute, minute / 10)
    case "cumulate" => Cumulate(60 * minute, minute)
    case "tumbling-zone" => Tumbling(minute, timeZone = "America/New_York")
    case "day-zone" => Calendar(CalendarUnit.Day, "America/New_York")
    case "month-zone" => Calendar(CalendarUnit.Month, "America/New_York")
  }
}
