package transom.engine.sweep

import java.nio.ByteBuffer

import scala.collection.mutable.ArrayBuffer

import munit.FunSuite

import transom.engine.conformance.driver.{EntriesInMemory, OneKey, Specs}
import transom.engine.keyed.contract._
import transom.engine.spec._
import transom.engine.state.ByteRange
import transom.engine.window.{Rolling, RowContext, Snapshot, Tumbling}

/** Rows that a codec shares between its calls, as the rows of Spark. */
class SharedRowSuite extends FunSuite {
  import SharedRowSuite._

  Seq(Snapshot(), Tumbling(5), Rolling(50)).foreach { window =>
    test(s"a row keeps its value while the windows before it fire: $window") {
      val lifetime = Option.when(!window.isInstanceOf[Rolling])(Lifetime(endColumn = Some(0)))
      val sums = new Sums
      val operator =
        new SweepOperator[Cell, Cell, Unit](
          Specs.of(window).copy(lifetime = lifetime),
          Adding,
          Cells,
          sums)
      val state =
        new SweepCodec(hasEdges = false, new SweepStore(new EntriesInMemory, Cells)).create()
      val arrival = new RowContext
      // Row 100 starts before the watermark, and it starts to count when row 7 comes.
      Seq((1L, 10L, 60L, 20L), (100L, 15L, 60L, 20L), (7L, 30L, 40L, 29L)).foreach {
        case (value, start, end, watermark) =>
          arrival.time = start
          arrival.end = end
          arrival.watermark = watermark
          OneKey.process(operator, state, Cells.view(range(value)), arrival)
      }
      OneKey.advance(operator, state, 31L, 31L)
      OneKey.advance(operator, state, Long.MaxValue, Long.MaxValue)
      assert(sums.emitted.contains(108L), sums.emitted)
    }
  }
}

private object SharedRowSuite {

  final class Cell(var value: Long)

  def bytes(value: Long): Array[Byte] = ByteBuffer.allocate(8).putLong(value).array

  def range(value: Long): ByteRange = {
    val range = new ByteRange
    range.set(bytes(value), 0, 8)
    range
  }

  object Cells extends RowCodec[Cell] {
    // Suites run at the same time.
    private val shared = ThreadLocal.withInitial[Cell](() => new Cell(0L))

    override def view(bytes: ByteRange): Cell = {
      shared.get.value = ByteBuffer.wrap(bytes.bytes, bytes.offset, bytes.length).getLong
      shared.get
    }

    override def decode(bytes: Array[Byte], offset: Int, length: Int): Cell =
      new Cell(ByteBuffer.wrap(bytes, offset, length).getLong)

    override def encode(row: Cell): Array[Byte] = bytes(row.value)

    override def setTime(bytes: ByteRange, time: Long): Unit = ()

    override def timeOf(row: Cell): Long = RowContext.NoTime

    override def layout: Int = 0

    override def converted(
        written: Int,
        bytes: Array[Byte],
        offset: Int,
        length: Int): Array[Byte] =
      throw new UnsupportedOperationException("there is one layout")
  }

  object Adding extends WindowAggregation[Cell, Cell] {
    override def create(): Cell = new Cell(0L)

    override def add(sum: Cell, row: Cell): Cell = {
      sum.value += row.value
      sum
    }

    override def weightOf(row: Cell): Int = 8

    override def merge(sum: Cell, other: Cell): Cell = add(sum, other)

    override def encode(sum: Cell): ByteRange = range(sum.value)

    override def decode(bytes: Array[Byte], offset: Int, length: Int): Cell =
      new Cell(ByteBuffer.wrap(bytes, offset, length).getLong)

    override def result(sum: Cell): Array[Byte] = bytes(sum.value)
  }

  final class Sums extends Results[Cell, Cell, Unit] {
    val emitted = ArrayBuffer.empty[Long]

    override def pointAt(bytes: Array[Byte]): Unit = ()

    override def result(window: FiredWindow, sum: Cell): Unit = emitted += sum.value

    override def ofRows(window: FiredWindow, rows: Iterator[Cell]): Iterator[Unit] =
      Iterator.empty

    override def change(window: FiredWindow, change: Change, result: Array[Byte]): Unit = ()

    override def windowGone(window: FiredWindow): Unit = ()
  }
}
