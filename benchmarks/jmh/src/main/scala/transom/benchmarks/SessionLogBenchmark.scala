package transom.benchmarks

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import transom.engine.session.SessionLog
import transom.engine.state.{Limits, MemoryStore, SessionBounds, SliceDirectory}

/** A minute of seconds through the sessions of one key group, all keys in each second. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 15, time = 2)
class SessionLogBenchmark {
  private val second = 1000000L

  /** In half seconds. With less than two each row is a session, else all rows are one. */
  @Param(Array("1", "4", "20"))
  var gap: Int = _

  private val segments = (0L until 60L).map { at =>
    val bounds = new SessionBounds().set(at * second, at * second)
    Segments.of((writer, hash, key) => writer.append(hash, key, bounds, Segments.range(1L)))
  }

  @Benchmark
  def minute(): Long = {
    val width = gap * second / 2
    val directory = new SliceDirectory(new MemoryStore)
    val log = new SessionLog(width, true, directory, new SumMerger, Limits.Default.sessions)
    segments.foreach(log.append(0L, _, Long.MinValue))
    log.fire(Long.MaxValue).sum
  }
}
