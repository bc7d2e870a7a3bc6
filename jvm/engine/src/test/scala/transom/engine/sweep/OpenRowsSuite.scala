package transom.engine.sweep

import munit.FunSuite

import transom.engine.conformance.driver.{EntriesInMemory, OneKey, Specs}
import transom.engine.keyed.contract.{RowCodec, WindowAggregation}
import transom.engine.spec._
import transom.engine.state.ByteRange
import transom.engine.window.{RowContext, Snapshot}

/** How much of the aggregates of open rows is computed again. */
class OpenRowsSuite extends FunSuite {
  import SharedRowSuite._

  private final class Counting extends WindowAggregation[Cell, Cell] {
    var work = 0
    override def create(): Cell = Adding.create()
    override def add(sum: Cell, row: Cell): Cell = {
      work += 1
      Adding.add(sum, row)
    }
    override def weightOf(row: Cell): Int = Adding.weightOf(row)
    override def merge(sum: Cell, other: Cell): Cell = {
      work += 1
      Adding.merge(sum, other)
    }
    override def encode(sum: Cell): ByteRange = Adding.encode(sum)
    override def decode(bytes: Array[Byte], offset: Int, length: Int): Cell =
      Adding.decode(bytes, offset, length)
    override def result(sum: Cell): Array[Byte] = Adding.result(sum)
  }

  // The value of a row is its id.
  private object Identified extends RowCodec[Cell] {
    override def view(bytes: ByteRange): Cell = Cells.view(bytes)
    override def decode(bytes: Array[Byte], offset: Int, length: Int): Cell =
      Cells.decode(bytes, offset, length)
    override def encode(row: Cell): Array[Byte] = Cells.encode(row)
    override def setTime(bytes: ByteRange, time: Long): Unit = ()
    override def timeOf(row: Cell): Long = RowContext.NoTime
    override def idOf(row: Cell): Array[Byte] = Cells.encode(row)
    override def layout: Int = Cells.layout
    override def converted(
        written: Int,
        bytes: Array[Byte],
        offset: Int,
        length: Int): Array[Byte] = Cells.converted(written, bytes, offset, length)
  }

  private final class Key(count: Int) {
    val counting = new Counting
    val sums = new Sums
    private val codec =
      new SweepCodec(hasEdges = true, new SweepStore(new EntriesInMemory, Identified))
    private val lifetime = Lifetime(endColumn = Some(0), idColumns = Seq(1))
    private val spec = Specs.of(Snapshot()).copy(lifetime = Some(lifetime))
    private val operator = new SweepOperator[Cell, Cell, Unit](spec, counting, Identified, sums)
    private val arrival = new RowContext
    private var state = codec.create()
    private var time = 0L
    (0 until count).foreach(n => process(n.toLong, RowContext.NoEnd))
    process(count.toLong, RowContext.NoEnd)
    end(count.toLong)

    private def process(value: Long, end: Long): Unit = {
      arrival.time = time
      arrival.end = end
      arrival.watermark = time
      OneKey.process(operator, state, Cells.view(range(value)), arrival): Unit
    }

    /** Ends a row, and returns how much is computed until the next result. */
    def end(value: Long): Int = {
      time += 1
      process(value, time)
      time += 1
      counting.work = 0
      // Another row starts and ends, so the sums of the others are emitted.
      process(Long.MaxValue / 2, RowContext.NoEnd)
      process(Long.MaxValue / 2, time)
      time += 1
      OneKey.advance(operator, state, time, time)
      counting.work
    }

    def restart(): Unit = state = codec.decode(codec.encode(state))
  }

  test("ending one of 100,000 open rows computes as much as ending one of 100, and some levels") {
    val (few, many) = (new Key(100), new Key(100000))
    Seq(0L, 1L, 50L, 99L).foreach { value =>
      val (one, other) = (few.end(value), many.end(1000 * value + 7))
      assert(one > 0)
      assert(other <= 2 * one + 3 * OpenRows.BlockSize, (one, other))
    }
  }

  test("accumulators outlast the batch") {
    val many = new Key(100000)
    many.end(50000L): Unit
    many.restart()
    val work = many.end(70000L)
    assert(work > 0 && work < 100, work)
    assertEquals(many.sums.emitted.last, 100000L * 99999 / 2 - 50000 - 70000)
  }
}
