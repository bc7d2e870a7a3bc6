package transom.benchmarks

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import transom.engine.session.SessionLog
import transom.engine.state.{Limits, MemoryState, SegmentEntries, SessionBounds, SliceDirectory}

/** Sessions of one key group over a minute of rows. Each second has one row of every key. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 15, time = 2)
class SessionLogBenchmark {
  private val second = 1000000L

  /** The gap in half seconds. With a gap of 1, each row is a session. Otherwise, all rows of a
    * key are one session.
    */
  @Param(Array("1", "4", "20"))
  var gap: Int = _

  private val segments = (0L until 60L).map { at =>
    val bounds = new SessionBounds().set(at * second, at * second)
    Segments.of((writer, hash, key) => writer.append(hash, key, bounds, Segments.range(1L)))
  }

  @Benchmark
  def minute(): Long = {
    val width = gap * second / 2
    val directory = new SliceDirectory(new SegmentEntries(new MemoryState))
    val log = new SessionLog(width, true, directory, new SumMerger, Limits.Default.sessions)
    segments.foreach(log.append(0L, _, Long.MinValue))
    log.fire(Long.MaxValue).sum
  }
}
