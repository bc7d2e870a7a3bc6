package transom.engine.sweep

import java.nio.ByteBuffer

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

import munit.FunSuite

import transom.engine.conformance.driver.{EntriesInMemory, OneKey, Specs}
import transom.engine.keyed.contract._
import transom.engine.spec._
import transom.engine.state.ByteRange
import transom.engine.window.{RowContext, Snapshot}

/** Accumulators that are as large as their rows. */
class LargeAccumulatorSuite extends FunSuite {
  import LargeAccumulatorSuite._
  import SharedRowSuite.{range, Cell, Cells}

  Seq(500, 4000).foreach { length =>
    test(s"the state grows with the rows, not with their square: $length rows at once") {
      val random = new Random(length)
      val listing = new Listing
      val lists = new Lists
      val spec = Specs.of(Snapshot()).copy(lifetime = Some(Lifetime(endColumn = Some(0))))
      val operator = new SweepOperator[Cell, List, Unit](spec, listing, Cells, lists)
      val codec = new SweepCodec(hasEdges = false, new SweepStore(new EntriesInMemory, Cells))
      val arrival = new RowContext
      val ends = ArrayBuffer.empty[Long]
      var state = codec.create()
      var checked = 0
      (0 until 3 * length).foreach { start =>
        arrival.time = start.toLong
        arrival.end = start + 1L + random.nextInt(2 * length)
        arrival.watermark = start.toLong
        ends += arrival.end
        lists.emitted.clear()
        OneKey.process(operator, state, Cells.view(range(start.toLong)), arrival)
        // A row may start where another has just ended. Then no window ends.
        if (start % 97 == 0) lists.emitted.lastOption.foreach { case (from, list) =>
          val live = (0 until start).filter(n => n <= from && ends(n) > from).map(_.toLong)
          assertEquals(list.sorted, live.toSeq, s"at $from")
          val bytes = codec.encode(state)
          // A row is 8 bytes, and its times and lengths take a few more. Small accumulators are
          // stored with each row.
          assert(bytes.length < 80 * live.length + 20000, s"${bytes.length}, ${live.length} rows")
          state = codec.decode(bytes)
          checked += 1
        }
      }
      assert(checked > length / 97, checked)
      // Without accumulators between, a result would add each of its rows.
      assert(listing.added < 3L * length * length / 2, listing.added)
    }
  }
}

private object LargeAccumulatorSuite {
  import SharedRowSuite.Cell

  type List = ArrayBuffer[Long]

  final class Listing extends WindowAggregation[Cell, List] {
    var added = 0L
    override def create(): List = ArrayBuffer.empty
    override def add(list: List, row: Cell): List = {
      added += 1
      list += row.value
    }
    override def weightOf(row: Cell): Int = 8
    override def merge(list: List, other: List): List = list ++= other
    override def encode(list: List): ByteRange = {
      val bytes = ByteBuffer.allocate(8 * list.length)
      list.foreach(bytes.putLong)
      val range = new ByteRange
      range.set(bytes.array, 0, bytes.capacity)
      range
    }
    override def decode(bytes: Array[Byte], offset: Int, length: Int): List = {
      val in = ByteBuffer.wrap(bytes, offset, length)
      ArrayBuffer.fill(length / 8)(in.getLong)
    }
    override def result(list: List): Array[Byte] = encode(list).bytes
  }

  final class Lists extends Results[Cell, List, Unit] {
    val emitted = ArrayBuffer.empty[(Long, Seq[Long])]

    override def pointAt(bytes: Array[Byte]): Unit = ()
    override def result(window: FiredWindow, list: List): Unit =
      emitted += window.start -> list.toSeq
    override def ofRows(window: FiredWindow, rows: Iterator[Cell]): Iterator[Unit] =
      Iterator.empty
    override def change(window: FiredWindow, change: Change, result: Array[Byte]): Unit = ()
    override def windowGone(window: FiredWindow): Unit = ()
  }
}
