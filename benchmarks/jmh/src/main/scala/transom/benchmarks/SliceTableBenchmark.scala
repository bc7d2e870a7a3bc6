package transom.benchmarks

import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import transom.engine.combine.{MemoryUsage, SliceTable}
import transom.engine.state.ByteRange

/** Aggregates rows in the table of a slice on the map side, and reads the segments. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 15, time = 2)
class SliceTableBenchmark {
  private val rows = 1 << 18

  @Param(Array("1000", "100000"))
  var keys: Int = _

  private val fresh = new Array[Byte](8)
  private var keyBytes: Array[ByteRange] = _

  @Setup
  def makeKeys(): Unit = {
    val random = new java.util.Random(1L)
    keyBytes = Array.fill(rows)(Segments.range(random.nextInt(keys).toLong))
  }

  /** Time per row, including its share of reading the segments. */
  @Benchmark
  @OperationsPerInvocation(1 << 18)
  def updateAndPack(): Long = {
    val table = new SliceTable(new MemoryUsage)
    var i = 0
    while (i < rows) {
      val at = table.locate(keyBytes(i), fresh)
      table.array(at) = (table.array(at) + 1).toByte
      i += 1
    }
    table.segments(128)(identity).map(_._2.length.toLong).sum
  }
}
