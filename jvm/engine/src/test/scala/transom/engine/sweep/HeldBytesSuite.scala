package transom.engine.sweep

import java.nio.ByteBuffer

import scala.collection.mutable

import munit.FunSuite

import transom.engine.judge.CommonWatermark
import transom.engine.keyed._
import transom.engine.keyed.contract._
import transom.engine.keyed.keystate.MemoryKeyStore
import transom.engine.runtime.{GroupInput, TaskOperator}
import transom.engine.spec._
import transom.engine.state.{ByteRange, Limits}
import transom.engine.window._
import transom.engine.conformance.driver.{Operator, Output, RowList, Specs}

/** The keys in memory keep to their limit, however large the rows of a sweep are. */
class HeldBytesSuite extends FunSuite {
  import HeldBytesSuite._

  private val limit = 200000L
  private val width = 10000
  private val lifetimes = Lifetime(endColumn = Some(0))
  private val edges = Lifetime(endColumn = Some(0), idColumns = Seq(1))
  private val rowsOfApply = ApplyFunction("n long", RowsForm.Arrow, Nil)

  Seq(
    "a rolling sum" -> Specs.of(Rolling(1000)),
    "the function of scan" -> Specs.of(CountByStart(1)).copy(function = rowsOfApply),
    "the function of apply" -> Specs.of(Rolling(1000)).copy(function = rowsOfApply),
    "lifetimes on a grid" -> Specs.of(Tumbling(1000)).copy(lifetime = Some(lifetimes)),
    "edges" -> Specs.of(Snapshot()).copy(lifetime = Some(edges)),
    "several windows" -> Specs.of(
      Windows(Seq(Rolling(1000), Rolling(50)).map(NamedWindow(None, _))))).foreach {
    case (name, spec) =>
      test(s"keys with rows of 10 KB are written before they exceed the limit: $name") {
        val store = new CountingStore
        var most = 0L
        val inputs = Iterator.tabulate(200) { n =>
          most = math.max(most, store.unsaved.values.sum)
          val key = n % 50
          store.unsaved(key) += width
          rowOf(key, n, width)
        }
        val operator = operatorOf(spec, limit).open(0, store, 0L)
        assertEquals(operator.process(inputs).length, 0)
        assert(most > limit / 4, most)
        assert(most <= limit + 2 * width, most)
      }
  }
}

private object HeldBytesSuite {

  /** Knows how many bytes of rows each key has got since it was written. */
  final class CountingStore extends MemoryKeyStore {
    val unsaved: mutable.Map[Int, Long] = mutable.Map.empty[Int, Long].withDefaultValue(0L)

    override def put(key: Array[Byte], state: Array[Byte]): Unit = {
      unsaved(ByteBuffer.wrap(key).getInt) = 0L
      super.put(key, state)
    }
  }

  def rowOf(key: Int, n: Int, width: Int): GroupInput.Row = {
    val row = new GroupInput.Row
    row.key.set(ByteBuffer.allocate(8).putInt(key).array, 0, 8)
    row.value.set(ByteBuffer.allocate(width).putInt(n).array, 0, width)
    row.context.time = n.toLong
    row.context.end = RowContext.NoEnd
    row.context.watermark = Long.MinValue
    row
  }

  def operatorOf(spec: WindowSpec, limit: Long): TaskOperator[MemoryKeyStore, Output] = {
    val rows = new EncodedRowStore(Arrays, spec.window.convention)
    new KeyedTaskOperator(
      spec,
      KeyedOperators.of(spec, Count, Arrays, rows, null, Nothing),
      rows,
      Nothing,
      Operator.Side,
      Limits.Default.copy(keys = limit),
      CommonWatermark.open)
  }

  object Arrays extends RowCodec[Array[Byte]] {
    override def view(bytes: ByteRange): Array[Byte] = RowList.copy(bytes)
    override def decode(bytes: Array[Byte], offset: Int, length: Int): Array[Byte] =
      bytes.slice(offset, offset + length)
    override def layout: Int = 0
    override def converted(
        written: Int,
        bytes: Array[Byte],
        offset: Int,
        length: Int): Array[Byte] =
      throw new UnsupportedOperationException("there is one layout")
    override def encode(row: Array[Byte]): Array[Byte] = row
    override def setTime(bytes: ByteRange, time: Long): Unit = ()
    override def timeOf(row: Array[Byte]): Long = RowContext.NoTime
    override def idOf(row: Array[Byte]): Array[Byte] = row.take(4)
  }

  final class Counter(var rows: Long)

  /** An accumulator of fixed size, so that a row does not enlarge it. */
  object Count extends WindowAggregation[Array[Byte], Counter] {
    override def create(): Counter = new Counter(0L)
    override def add(counter: Counter, row: Array[Byte]): Counter = {
      counter.rows += 1
      counter
    }
    override def weightOf(row: Array[Byte]): Int = 0
    override def merge(counter: Counter, other: Counter): Counter = {
      counter.rows += other.rows
      counter
    }
    override def encode(counter: Counter): ByteRange = RowList.range(result(counter))
    override def decode(bytes: Array[Byte], offset: Int, length: Int): Counter =
      new Counter(ByteBuffer.wrap(bytes, offset, length).getLong)
    override def result(counter: Counter): Array[Byte] =
      ByteBuffer.allocate(8).putLong(counter.rows).array
  }

  /** Builds no rows. */
  object Nothing extends Results[Array[Byte], Counter, Output] {
    override def pointAt(key: Array[Byte]): Unit = ()
    override def result(window: FiredWindow, counter: Counter): Output = null
    override def ofRows(window: FiredWindow, rows: Iterator[Array[Byte]]): Iterator[Output] =
      Iterator.empty
    override def change(window: FiredWindow, change: Change, result: Array[Byte]): Output = null
    override def windowGone(window: FiredWindow): Output = null
  }
}
