package transom.engine.combine

import scala.util.Random

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.state._
import transom.engine.window.{SessionModel, TimeWindow}

class SessionTableSuite extends ScalaCheckSuite {
  import SessionTableSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(300))

  private val gap = 10L

  private val rows: Gen[List[Row]] =
    Gen.listOf(Gen.zip(Gen.choose(0L, 3L), Gen.choose(0L, 200L)).map { case (key, time) =>
      Row(key, time)
    })

  /** The segments of the table, each with its key group. */
  private def segmentsOf(
      rows: Seq[Row],
      inclusive: Boolean,
      groups: Int): Seq[(Int, Array[Byte])] = {
    val tables =
      new SessionTables(gap, inclusive, new Array[Byte](8), new MemoryUsage, new Counts)
    rows.foreach(row => count(tables.locate(keyBytes(row.key), 0L, row.time), tables.array))
    tables.drain(groups)(identity).map { case (_, group, segment) => (group, segment) }.toVector
  }

  private def sessions(rows: Seq[Row], inclusive: Boolean): Set[Record] =
    rows
      .groupBy(_.key)
      .flatMap { case (key, ofKey) =>
        val own = ofKey.map(row => TimeWindow(row.time, row.time + gap))
        SessionModel.merge(own, inclusive).map { case (session, sources) =>
          Record(key, session.start, session.end - gap, sources.length.toLong)
        }
      }
      .toSet

  property("p4: rows in any order become the same segments, with one record for each session") {
    forAll(rows, Gen.oneOf(true, false), Gen.choose(1, 8), Gen.long) {
      (rows, inclusive, groups, seed) =>
        val segments = segmentsOf(rows, inclusive, groups)
        val got = segments.flatMap { case (_, segment) => records(segment).map(_._2) }
        assertEquals(got.length, got.toSet.size)
        assertEquals(got.toSet, sessions(rows, inclusive))
        segments.foreach { case (group, segment) =>
          val hashes = records(segment).map(_._1)
          assertEquals(hashes, hashes.sorted)
          assert(hashes.forall(KeyGroups.groupOf(_, groups) == group))
        }
        val others = segmentsOf(new Random(seed).shuffle(rows), inclusive, groups)
        assertEquals(bytesOf(others), bytesOf(segments))
    }
  }

  property("a row that is slightly out of order joins the record of its session") {
    forAll(Gen.choose(1, 3)) { behind =>
      // Each session has two rows. The second row arrives after other sessions have started.
      val starts = (0 until 50).map(i => Row(1L, 100L * i))
      val late = starts.map(row => row.copy(time = row.time + 5L))
      val order = starts.indices.flatMap { i =>
        starts.lift(i).toSeq ++ late.lift(i - behind)
      } ++ late.takeRight(behind)
      val table = new SessionTable(gap, inclusive = true, new Array[Byte](8), new MemoryUsage)
      order.foreach(row => count(table.locate(keyBytes(row.key), row.time), table.array))
      val got = table.segments(1)(identity).flatMap(s => records(s._2).map(_._2)).toSeq
      assertEquals(got.toSet, sessions(order, inclusive = true))
      assertEquals(got.length, starts.length)
    }
  }

  test("a key with very many sessions fills several segments of limited size") {
    val rows = (0L until 20000L).map(i => Row(7L, 100L * i))
    val segments = segmentsOf(rows, inclusive = true, 4)
    assert(segments.forall(_._2.length < Segment.SessionTargetSize + 100))
    assertEquals(
      segments.flatMap(s => records(s._2).map(_._2)).toSet,
      sessions(rows, inclusive = true))
  }

  test("more keys than a table holds fill several tables") {
    val keys = 2L * SessionTables.MaxKeys + 10L
    val rows = (0L until keys).map(Row(_, 0L)) ++ (0L until keys).map(Row(_, 3L))
    val segments = segmentsOf(rows, inclusive = true, 4)
    val got = segments.flatMap(s => records(s._2).map(_._2))
    assertEquals(got.length, keys.toInt)
    assertEquals(got.toSet, sessions(rows, inclusive = true))
    assertEquals(bytesOf(segmentsOf(rows.reverse, inclusive = true, 4)), bytesOf(segments))
  }

  test("a segment stores the earliest last time of its sessions") {
    val segments = segmentsOf(Seq(Row(1L, 50L), Row(1L, 45L), Row(2L, 48L)), inclusive = true, 1)
    assertEquals(segments.map(s => Segment.earliestLast(s._2)), Vector(48L))
  }
}

object SessionTableSuite {

  /** Adds numbers of rows. */
  private final class Counts extends AccumulatorMerger[Long] {
    private val sum = new Array[Byte](8)
    private val numbers = Segment.view(sum)
    private val range = new ByteRange().set(sum, 0, 8)

    override def start(accumulator: ByteRange): Unit = numbers.putLong(0, read(accumulator)): Unit
    override def merge(accumulator: ByteRange): Unit =
      numbers.putLong(0, numbers.getLong(0) + read(accumulator)): Unit
    override def accumulator: ByteRange = range
    override def result(key: ByteRange, windowStart: Long, windowEnd: Long): Long =
      numbers.getLong(0)

    private def read(accumulator: ByteRange): Long =
      Segment.view(accumulator.bytes).getLong(accumulator.offset)
  }

  /** Counts a row in an accumulator. */
  private def count(at: Int, array: Array[Byte]): Unit = {
    val numbers = Segment.view(array)
    numbers.putLong(at, numbers.getLong(at) + 1): Unit
  }

  private def bytesOf(segments: Seq[(Int, Array[Byte])]): Seq[(Int, Seq[Byte])] =
    segments.map { case (group, segment) => (group, segment.toSeq) }

  private final case class Row(key: Long, time: Long)
  private final case class Record(key: Long, first: Long, last: Long, rows: Long)

  private def keyBytes(key: Long): ByteRange = {
    val bytes = new Array[Byte](16)
    Segment.view(bytes).putLong(8, key)
    new ByteRange().set(bytes, 8, 8)
  }

  private def records(segment: Array[Byte]): Vector[(Long, Record)] = {
    val cursor = new Cursor(Iterator(segment))
    Iterator
      .continually(cursor)
      .takeWhile(_.advance())
      .map { c =>
        val key = Segment.view(c.key.bytes).getLong(c.key.offset)
        (c.hash, Record(key, SessionBounds.first(c), SessionBounds.last(c), c.long(16)))
      }
      .toVector
  }
}
