package transom.engine.sweep

import java.nio.ByteBuffer

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.conformance.driver.EntriesInMemory
import transom.engine.state.{StateReader, StateWriter}
import transom.engine.window.RowContext

/** Pending rows against a list that is sorted after each row. */
class PendingRowsSuite extends ScalaCheckSuite {
  import PendingRowsSuite._

  // A start adds a row; none takes the first row or removes the last one that was added.
  private val steps: Gen[(Int, Seq[Option[Long]])] = for {
    distance <- Gen.oneOf(0L, 3L, 40L, 1000L)
    width <- Gen.oneOf(8, 700, 10000)
    length <- Gen.choose(0, 200)
    moves <- Gen.listOfN(length, Gen.choose(-distance, distance))
    takes <- Gen.listOfN(length, Gen.prob(0.3))
  } yield width -> moves.zip(takes).zipWithIndex.map { case ((move, takes), i) =>
    Option.unless(takes)(if (distance == 0L) 5L else i + move)
  }

  property("rows come by start, and rows with equal starts in the order of their arrival") {
    forAll(steps, Gen.oneOf(1, 7, 1000)) { case ((width, steps), batch) =>
      val entries = new EntriesInMemory
      var pending = pendingIn(entries)
      var expected = Vector.empty[OpenRow]
      steps.zipWithIndex.foreach { case (step, i) =>
        step match {
          case Some(start) =>
            val row = rowAt(start, i, width)
            pending.add(row)
            expected = (expected :+ row).sortBy(_.start)
          case None if expected.nonEmpty && i % 3 == 0 =>
            val row = expected(i % expected.length)
            pending.remove(row)
            expected = expected.filterNot(_ eq row)
          case None if expected.nonEmpty && i % 3 == 1 =>
            val row = expected(i % expected.length)
            pending.replace(row, row.ended(row.start + 7))
            val other = rowAt(row.start, shown(row)._3, width, row.start + 7)
            other.number = row.number
            expected = expected.map(each => if (each eq row) other else each)
          case None if expected.nonEmpty =>
            assertEquals(pending.firstStart, expected.head.start)
            assertEquals(shown(pending.take()), shown(expected.head))
            expected = expected.tail
          case _ => assertEquals(pending.firstStart, RowContext.NoEnd)
        }
        if (i % batch == 0) pending = restarted(pending, entries)
      }
      assertEquals(pending.size, expected.length)
      assertEquals(pending.iterator.map(shown).toSeq, expected.map(shown))
      val blocks = (expected.length * width + (1 << 13)) / (1 << 11)
      assert(entries.size <= blocks, s"${entries.size} entries, ${expected.length} rows")
      pending.removeEntries()
      assertEquals(entries.size, 0)
    }
  }

  property("rows without numbers come by start, and then in the order of their arrival") {
    forAll(steps, Gen.oneOf(1, 7, 1000)) { case ((width, steps), batch) =>
      val entries = new EntriesInMemory
      var pending = pendingIn(entries, hasEdges = false)
      var expected = Vector.empty[(Long, Long, Int)]
      steps.zipWithIndex.foreach { case (step, i) =>
        step match {
          case Some(start) =>
            val row = rowAt(start, i, width, start + 3).ended(start + 3)
            pending.add(row)
            expected = (expected :+ shown(row)).sortBy(_._1)
          case None if expected.nonEmpty =>
            assertEquals(shown(pending.take()), expected.head)
            expected = expected.tail
          case _ => assertEquals(pending.firstStart, RowContext.NoEnd)
        }
        if (i % batch == 0) pending = restarted(pending, entries)
      }
      assertEquals(pending.iterator.map(shown).toSeq, expected)
    }
  }

  test("the ends of rows with the same start pass as many rows each, however many there are") {
    val passed = Seq(4000, 64000).map { count =>
      val pending = pendingIn(new EntriesInMemory)
      val rows = (0 until count).map(rowAt(5L, _, 8))
      rows.foreach(pending.add)
      rows.foreach { row =>
        if (row.number % 2 == 0) pending.remove(row)
        else pending.replace(row, row.ended(9L))
      }
      assertEquals(pending.size, count / 2)
      pending.passed / count
    }
    // A block holds a few hundred rows of this size.
    assert(passed.forall(_ < 1000L), passed)
    assert(passed(1) <= 2 * passed(0), passed)
  }

  test("taken rows keep their bytes while further rows come and go") {
    val pending = pendingIn(new EntriesInMemory, hasEdges = false)
    val taken = (0 until 2000).map { i =>
      pending.add(rowAt(i.toLong, i, 30))
      pending.take()
    }
    assertEquals(taken.map(shown(_)._3), 0 until 2000)
    assertEquals(pending.size, 0)
    assert(pending.heldBytes > 0 && pending.heldBytes <= (8 << 10), pending.heldBytes)
    pending.clear()
    assertEquals(pending.heldBytes, 0L)
  }

  test("a batch reads and writes only the blocks that it changes") {
    val entries = new EntriesInMemory
    var pending = pendingIn(entries)
    (0 until 10000).foreach(i => pending.add(rowAt(i.toLong, i, 100)))
    pending = restarted(pending, entries)
    assert(entries.size > 100, entries.size)
    entries.puts = 0
    assert(pending.heldBytes < 40000, pending.heldBytes)
    pending.add(rowAt(5000L, 0, 100))
    pending = restarted(pending, entries)
    assert(entries.puts <= 2, entries.puts)
    assert(entries.gets <= 1, entries.gets)
    (0 to 5000).foreach(i => assertEquals(pending.take().start, i.toLong))
    assertEquals(pending.take().start, 5000L)
    assertEquals(pending.take().start, 5001L)
  }
}

private object PendingRowsSuite {

  private def pendingIn(entries: EntriesInMemory, hasEdges: Boolean = true): PendingRows =
    new PendingRows(new SweepStore(entries, HeldBytesSuite.Arrays), hasEdges)

  private def rowAt(start: Long, value: Int, width: Int, end: Long = RowContext.NoEnd): OpenRow =
    new OpenRow(start, end, ByteBuffer.allocate(width).putInt(value).array, 0, width)

  private def shown(row: LifetimeRow): (Long, Long, Int) =
    (row.start, row.end, ByteBuffer.wrap(row.bytes, row.offset, row.length).getInt)

  private def restarted(pending: PendingRows, entries: EntriesInMemory): PendingRows = {
    val out = new StateWriter
    pending.write(out)
    val next = pendingIn(entries, pending.hasEdges)
    next.read(new StateReader(out.take()), HeldBytesSuite.Arrays.layout)
    next
  }
}
