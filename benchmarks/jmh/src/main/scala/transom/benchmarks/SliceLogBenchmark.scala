package transom.benchmarks

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import transom.engine.slice.SliceLog
import transom.engine.state.{Limits, MemoryState, SegmentEntries, SliceDirectory}
import transom.engine.window.{Cumulate, Grid, Hopping, Tumbling}

/** Windows of one key group over a minute of rows. Each second has one row of every key. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 15, time = 2)
class SliceLogBenchmark {
  private val second = 1000000L

  @Param(Array("tumbling-10", "hopping-10-1", "hopping-60-1", "cumulate-60-1"))
  var shape: String = _

  private var grid: Grid = _
  private val segment =
    Segments.of((writer, hash, key) => writer.append(hash, key, Segments.range(1L)))

  @Setup
  def makeGrid(): Unit = grid = (shape match {
    case "tumbling-10" => Tumbling(10 * second)
    case "hopping-10-1" => Hopping(10 * second, second)
    case "hopping-60-1" => Hopping(60 * second, second)
    case "cumulate-60-1" => Cumulate(60 * second, second)
  }).grid

  private def emptyLog() =
    new SliceLog(
      grid,
      new SliceDirectory(new SegmentEntries(new MemoryState)),
      new SumMerger,
      Limits.Default.shared)

  /** Appends the rows without firing. The difference to `minute` is the cost of firing. */
  @Benchmark
  def append(): SliceLog[Long] = {
    val log = emptyLog()
    (0L until 60L).foreach { at =>
      log.append(grid.sliceOf(at * second), segment, Long.MinValue)
    }
    log
  }

  @Benchmark
  def minute(): Long = append().fire(Long.MaxValue).sum

  /** Two minutes of rows. Each window fires as soon as the watermark reaches its end. */
  @Benchmark
  def oneByOne(): Long = {
    val log = emptyLog()
    (0L until 120L).map { at =>
      log.append(grid.sliceOf(at * second), segment, Long.MinValue)
      log.fire((at + 1) * second).sum
    }.sum
  }
}
