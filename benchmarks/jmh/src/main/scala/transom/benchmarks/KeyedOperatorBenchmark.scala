package transom.benchmarks

import java.nio.ByteBuffer
import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import transom.engine.firing.AfterWatermark
import transom.engine.keyed.{KeyedOperator, KeyedPlan}
import transom.engine.keyed.contract._
import transom.engine.keyed.keystate.{KeyState, StateCodec}
import transom.engine.state.ByteRange
import transom.engine.time.Timeline
import transom.engine.window.{Hopping, RowContext, RowOutcome, Session, Tumbling, Window}

/** Cost of a row in the keyed operator.
  *
  * Rows of one key arrive in order of time. The watermark follows closely, and the state is in
  * memory.
  */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 15, time = 1)
class KeyedOperatorBenchmark {

  @Param(Array("tumbling", "hopping", "session"))
  var shape: String = _

  private var operator: KeyedOperator[java.lang.Long, LongSum, Unit] = _
  private var codec: StateCodec[LongSum] = _
  private val arrival = new RowContext
  private val one = java.lang.Long.valueOf(1L)
  private var state: KeyState[LongSum] = _
  private var time = 0L

  @Setup
  def setUp(): Unit = {
    val window: Window = shape match {
      case "tumbling" => Tumbling(1000)
      case "hopping" => Hopping(1000, 100)
      case "session" => Session(1000)
    }
    val plan = KeyedPlan.of[java.lang.Long, LongSum](
      window,
      Timeline.Event,
      AfterWatermark(),
      None,
      LongSumAggregation,
      NoRows,
      null)
    operator = new KeyedOperator(plan, NoRows, Discarded)
    codec = new StateCodec(LongSumAggregation)
    state = new KeyState
    time = 0L
  }

  @Benchmark
  def row(): RowOutcome = {
    time += 1
    arrival.time = time
    arrival.watermark = time - time % 100
    operator.advance(state, arrival.watermark, arrival.clock).foreach(identity)
    operator.process(state, one, arrival).foreach(identity)
    operator.outcome
  }

  /** A batch with one row of the key: processes the row, writes the state and reads it again. */
  @Benchmark
  def readRowWrite(): Array[Byte] = {
    row()
    val bytes = codec.encode(state)
    state = codec.decode(bytes)
    bytes
  }
}

final class LongSum(var sum: Long)

object LongSumAggregation extends WindowAggregation[java.lang.Long, LongSum] {
  override def create(): LongSum = new LongSum(0L)
  override def add(sum: LongSum, row: java.lang.Long): LongSum = {
    sum.sum += row
    sum
  }
  override def weightOf(row: java.lang.Long): Int = 0
  override def merge(sum: LongSum, other: LongSum): LongSum = {
    sum.sum += other.sum
    sum
  }
  override def encode(sum: LongSum): ByteRange =
    new ByteRange().set(ByteBuffer.allocate(8).putLong(sum.sum).array, 0, 8)
  override def decode(bytes: Array[Byte], offset: Int, length: Int): LongSum =
    new LongSum(ByteBuffer.wrap(bytes, offset, length).getLong())
  override def result(sum: LongSum): Array[Byte] = Array.emptyByteArray
}

/** The windows keep sums, not rows. */
private object NoRows extends RowStore[java.lang.Long] {
  override def getBytes(list: Long, number: Long): Array[Byte] = Array.emptyByteArray
  override def putBytes(list: Long, number: Long, bytes: Array[Byte]): Unit = ()
  override def put(list: Long, sequence: Long, row: java.lang.Long): Unit = ()
  override def get(list: Long, sequence: Long): java.lang.Long = null
  override def remove(list: Long, sequence: Long): Unit = ()
  override def timeOf(row: java.lang.Long): Long = RowContext.NoTime
}

private object Discarded extends Results[java.lang.Long, LongSum, Unit] {
  override def pointAt(key: Array[Byte]): Unit = ()
  override def result(window: FiredWindow, sum: LongSum): Unit = ()
  override def ofRows(window: FiredWindow, rows: Iterator[java.lang.Long]): Iterator[Unit] =
    Iterator.empty
  override def change(window: FiredWindow, change: Change, result: Array[Byte]): Unit = ()
  override def windowGone(window: FiredWindow): Unit = ()
}
