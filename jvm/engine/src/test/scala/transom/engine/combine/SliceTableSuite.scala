package transom.engine.combine

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.state.{ByteRange, Cursor, KeyGroups, Segment}

class SliceTableSuite extends ScalaCheckSuite {

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(200))

  private val zero = new Array[Byte](8)

  private val key: Gen[Vector[Long]] =
    Gen.oneOf(
      Gen.choose(0L, 20L).map(Vector(_)),
      Gen.long.map(Vector(_)),
      Gen.choose(0, 4).flatMap(Gen.listOfN(_, Gen.choose(0L, 2L))).map(_.toVector))

  private def keyBytes(words: Seq[Long]): ByteRange = {
    // Like the key of a row, the key does not begin at the start of its array.
    val bytes = new Array[Byte](8 + 8 * words.length)
    val view = Segment.view(bytes)
    words.zipWithIndex.foreach { case (word, i) => view.putLong(8 + 8 * i, word) }
    new ByteRange().set(bytes, 8, bytes.length - 8)
  }

  private def hash(words: Seq[Long]): Long = {
    val key = keyBytes(words)
    KeyGroups.hash(Segment.view(key.bytes), key.offset, key.length)
  }

  private def add(table: SliceTable, key: ByteRange, value: Long): Unit = {
    val at = table.locate(key, zero)
    val view = Segment.view(table.array)
    view.putLong(at, view.getLong(at) + value)
  }

  private def records(segment: Array[Byte]): Vector[(Long, Vector[Long], Long)] = {
    val cursor = new Cursor(Iterator(segment))
    Iterator
      .continually(cursor)
      .takeWhile(_.advance())
      .map { c =>
        val view = Segment.view(c.key.bytes)
        val words = (0 until c.key.length / 8).map(i => view.getLong(c.key.offset + 8 * i))
        (c.hash, words.toVector, c.long(0))
      }
      .toVector
  }

  property("a table returns one sum per key, in order of key group, hash and key") {
    forAll(Gen.listOf(Gen.zip(key, Gen.choose(1L, 100L))), Gen.choose(1, 64)) { (rows, groups) =>
      val table = new SliceTable(new MemoryUsage)
      rows.foreach { case (words, value) => add(table, keyBytes(words), value) }
      val segments = table.segments(groups)(identity).toVector
      val got = segments.flatMap { case (group, segment) =>
        records(segment).map(record => (group, record))
      }
      assert(got.forall { case (group, (hash, _, _)) =>
        KeyGroups.groupOf(hash, groups) == group
      })
      assert(got.map(_._2).forall { case (found, words, _) => found == hash(words) })
      assertEquals(got.map(_._2._1), got.map(_._2._1).sorted)
      val sums = rows.groupMapReduce(_._1)(_._2)(_ + _)
      assertEquals(got.map { case (_, (_, words, sum)) => words -> sum }.toMap, sums)
      assertEquals(got.length, sums.size)
    }
  }

  test("a large key that comes again leaves its page to small keys") {
    val large = Seq.fill(40000)(7L)
    val table = new SliceTable(new MemoryUsage)
    add(table, keyBytes(large), 1L)
    add(table, keyBytes(large), 2L)
    (0L until 20000L).foreach(i => add(table, keyBytes(Seq(i)), i))
    val got = table.segments(1)(identity).toVector.flatMap { case (_, segment) =>
      records(segment)
    }
    val sums = got.map { case (_, words, sum) => words -> sum }.toMap
    assertEquals(sums.size, 20001)
    assertEquals(sums(large.toVector), 3L)
    assert((0L until 20000L).forall(i => sums(Vector(i)) == i))
  }

  test("a large table grows its slots and pages, and limits the size of its segments") {
    val keys = 200000L
    val table = new SliceTable(new MemoryUsage)
    (0L until 2 * keys).foreach(i => add(table, keyBytes(Seq(i % keys)), i))
    val segments = table.segments(4)(identity).toVector
    assert(segments.forall(_._2.length < Segment.TargetSize + 100))
    val got = segments.flatMap { case (_, segment) => records(segment) }
    assertEquals(got.length.toLong, keys)
    assert(got.forall { case (_, words, sum) => sum == 2 * words.head + keys })
    assertEquals(got.map(_._1), got.map(_._1).sorted)
  }

  test("slices that are not taken keep their records, and their later rows join them") {
    val usage = new MemoryUsage
    val tables = new SliceTables(zero, usage)
    def add(word: Long, slice: Long): Unit = {
      val at = tables.locate(keyBytes(Seq(word)), slice, time = 0L)
      val view = Segment.view(tables.array)
      view.putLong(at, view.getLong(at) + 1L)
    }
    def taken(takes: Long => Boolean) =
      tables
        .drain(1, takes)(identity)
        .map { case (slice, _, segment) =>
          slice -> records(segment).map { case (_, words, sum) => words.head -> sum }
        }
        .toVector
    Seq(7L -> 10L, 7L -> 20L, 8L -> 30L).foreach { case (word, slice) => add(word, slice) }
    assertEquals(taken(_ < 20), Vector(10L -> Vector(7L -> 1L)))
    assert(!tables.isEmpty)
    assert(usage.bytes > 0)
    add(7, 20)
    add(9, 10)
    assertEquals(
      taken(_ <= 30),
      Vector(10L -> Vector(9L -> 1L), 20L -> Vector(7L -> 2L), 30L -> Vector(8L -> 1L)))
    assert(tables.isEmpty)
    assertEquals(usage.bytes, 0L)
  }
}
