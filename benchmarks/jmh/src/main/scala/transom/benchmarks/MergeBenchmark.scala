package transom.benchmarks

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import transom.engine.state.{Cursor, MergedRuns}

/** Merges sorted runs with the same keys, as every firing does. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 15, time = 1)
class MergeBenchmark {

  @Param(Array("1", "2", "8", "60"))
  var runs: Int = _

  private val segment =
    Segments.of((writer, hash, key) => writer.append(hash, key, Segments.range(1L)))

  /** Merges all runs. Each run has 2,000 records. */
  @Benchmark
  def merge(): Long = {
    val keys = new MergedRuns(Seq.fill(runs)(new Cursor(Iterator.single(segment))), new SumMerger)
    var found = 0L
    while (keys.next()) found += 1
    found
  }
}
