package transom.benchmarks

import java.nio.ByteBuffer
import java.util.SplittableRandom
import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import transom.engine.firing.AfterWatermark
import transom.engine.keyed.contract.{RowCodec, WindowAggregation}
import transom.engine.spec._
import transom.engine.state.ByteRange
import transom.engine.sweep.{SweepOperator, SweepOperators, SweepState}
import transom.engine.window.{Rolling, RowContext, RowOutcome, Snapshot}

/** Cost of a change of the rows of a window, by the number of its rows.
  *
  * A row enters with each call, and on average one row leaves. The window emits a result for each
  * change. Rows of `rolling` leave in the order in which they enter. Rows of `snapshot` have
  * lifetimes of random length. All rows of `edges` are open: with each call, a row ends an open
  * row at random, and a new row enters. The state is in memory.
  */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
class SweepBenchmark {

  @Param(Array("rolling", "snapshot", "edges"))
  var shape: String = _

  @Param(Array("sum", "max"))
  var aggregate: String = _

  @Param(Array("100", "100000"))
  var live: Int = _

  private var operator: SweepOperator[java.lang.Long, LongSum, Unit] = _
  private val arrival = new RowContext
  private val random = new SplittableRandom(1L)
  private var state: SweepState = _
  private var time = 0L
  // The ids of the open rows.
  private var open: Array[Long] = _

  @Setup
  def setUp(): Unit = {
    val isRolling = shape == "rolling"
    val spec = WindowSpec(
      name = None,
      keyColumns = Nil,
      time = Some(EventTime(0)),
      lifetime = Option.unless(isRolling)(
        Lifetime(endColumn = Some(0), idColumns = if (shape == "edges") Seq(1) else Nil)),
      orderColumns = Nil,
      window = if (isRolling) Rolling(live.toLong) else Snapshot(),
      trigger = AfterWatermark(),
      evictor = None,
      function = AggFunction(Nil),
      allowedLatenessUs = 0L,
      idleTimeout = None,
      outputPolicy = None,
      firstOutputUs = None,
      drain = false,
      pane = false,
      retract = false,
      changesOnly = false,
      lateRows = LateRows.No,
      deadLetters = false,
      watermarks = false,
      keyGroups = 1,
      layout = Layout.Auto,
      tickUs = 1000L,
      rowLog = 0)
    val aggregation = if (aggregate == "sum") LongSumAggregation else LongMaxAggregation
    val operators = new SweepOperators(spec, aggregation, LongCodec, NoRows, Discarded)
    operator = new SweepOperator(spec, aggregation, LongCodec, Discarded)
    state = operators.codec.create()
    time = 0L
    open = Array.tabulate(live)(_.toLong)
    if (shape == "edges") open.foreach(start)
    (0 until 4 * live).foreach(_ => change())
  }

  @Benchmark
  def change(): RowOutcome = if (shape == "edges") endOne() else enter()

  private def endOne(): RowOutcome = {
    time += 1
    arrival.time = time
    arrival.end = time
    arrival.watermark = time - 1
    val ended = random.nextInt(live)
    process(java.lang.Long.valueOf(open(ended)))
    open(ended) += live
    start(open(ended))
  }

  private def process(row: java.lang.Long): RowOutcome = {
    operator.advance(state, arrival.watermark, arrival.clock).foreach(identity)
    operator.process(state, row, arrival).foreach(identity)
    operator.outcome
  }

  private def start(id: Long): RowOutcome = {
    arrival.time = time
    arrival.end = RowContext.NoEnd
    arrival.watermark = time - 1
    process(java.lang.Long.valueOf(id))
  }

  private def enter(): RowOutcome = {
    time += 1
    arrival.time = time
    arrival.end = time + 1 + random.nextLong(2L * live)
    arrival.watermark = time - 1
    process(java.lang.Long.valueOf(random.nextLong(1000000L)))
  }
}

private object LongMaxAggregation extends WindowAggregation[java.lang.Long, LongSum] {
  override def create(): LongSum = new LongSum(Long.MinValue)
  override def add(max: LongSum, row: java.lang.Long): LongSum = {
    max.sum = math.max(max.sum, row)
    max
  }
  override def weightOf(row: java.lang.Long): Int = 0
  override def merge(max: LongSum, other: LongSum): LongSum = {
    max.sum = math.max(max.sum, other.sum)
    max
  }
  override def encode(max: LongSum): ByteRange = LongSumAggregation.encode(max)
  override def decode(bytes: Array[Byte], offset: Int, length: Int): LongSum =
    LongSumAggregation.decode(bytes, offset, length)
  override def result(max: LongSum): Array[Byte] = Array.emptyByteArray
}

private object LongCodec extends RowCodec[java.lang.Long] {
  override def view(bytes: ByteRange): java.lang.Long =
    ByteBuffer.wrap(bytes.bytes, bytes.offset, bytes.length).getLong()
  override def decode(bytes: Array[Byte], offset: Int, length: Int): java.lang.Long =
    ByteBuffer.wrap(bytes, offset, length).getLong()
  override def layout: Int = 0
  override def converted(
      written: Int,
      bytes: Array[Byte],
      offset: Int,
      length: Int): Array[Byte] =
    throw new UnsupportedOperationException("there is one layout")
  override def encode(row: java.lang.Long): Array[Byte] =
    ByteBuffer.allocate(8).putLong(row).array
  override def setTime(bytes: ByteRange, time: Long): Unit = ()
  override def timeOf(row: java.lang.Long): Long = RowContext.NoTime
  override def idOf(row: java.lang.Long): Array[Byte] = encode(row)
}
