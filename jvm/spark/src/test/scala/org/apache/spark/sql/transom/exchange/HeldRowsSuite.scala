package org.apache.spark.sql.transom.exchange

import munit.ScalaCheckSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.planned.{TimeStagePlan, Verdict}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.runtime.DeadLetterReason
import transom.engine.spec.{Accept, Periodic, TimePolicy}
import transom.engine.time.Watermark

class HeldRowsSuite extends ScalaCheckSuite {
  import HeldRowsSuite._

  private val texts: Gen[List[String]] =
    Gen.listOf(Gen.oneOf(0, 1, 8, 9, 1000, 40000).map("x" * _))

  property("the rows of all chunks are those that were read, in their order") {
    forAll(texts) { texts =>
      val read = HeldRows.read(plan, chunksOf(texts)).map { row =>
        (row.getLong(0), if (row.isNullAt(2)) null else row.getUTF8String(2).toString)
      }
      assertEquals(read.toList, texts.zipWithIndex.map { case (text, i) => (i.toLong, text) })
    }
  }

  property("each row has its stamp, whatever the order and the number of the records") {
    val numbers = Gen.choose(0, 40).flatMap(n => Gen.someOf(0 until n).map(n -> _.toSet))
    forAll(numbers, Gen.long) { case ((rows, stamped), seed) =>
      val emitted = new scala.util.Random(seed).shuffle(stamped.toList)
      val records = emitted.grouped(3).map(recordOf).toSeq
      val found = stampedRows(records, List.fill(rows)("")).map {
        case (time, watermark, verdict) =>
          (time, watermark, verdict)
      }
      val expected = List.tabulate(rows) { i =>
        if (stamped(i)) (i + 100L, i + 200L, Stamped) else (i.toLong, Watermark.NotYet, 0L)
      }
      // No watermark before the batch, although the first row may have met one.
      assertEquals(
        found,
        (Watermark.NotYet, Watermark.NotYet, Verdict.WatermarkBefore) :: expected)
    }
  }

  test("the watermarks before and after the batch come first and last, also without rows") {
    val record = Array(5L, 9L, 7L) ++ noSum
    val before = (Watermark.NotYet, 5L, Verdict.WatermarkBefore)
    // The idle timeout has moved the watermark from 7 to 9.
    val after = (7L, 9L, Verdict.Watermark)
    assertEquals(stampedRows(Seq(record), Nil), List(before, after))
    assertEquals(
      stampedRows(Seq(record), List("a")),
      List(before, (0L, Watermark.NotYet, 0L), after))
  }

  test("a dropped row keeps its own time") {
    val verdict = Verdict.unusable(DeadLetterReason.Early)
    val none = Watermark.NotYet
    val record = Array(none, none, none) ++ noSum ++ Array(0L, 77L, 3L, verdict)
    assertEquals(stampedRows(Seq(record), List("a")).last, (0L, 3L, verdict))
  }

  property("rows in another order, with another time or in another number are refused") {
    forAll(Gen.chooseNum(2, 50), Gen.oneOf("order", "time", "number")) { (rows, kind) =>
      val judged = List.tabulate(rows)(_.toLong)
      val read = kind match {
        case "order" => judged.reverse
        case "time" => judged.init :+ judged.last + 1
        case _ => judged.init
      }
      val error = intercept[TransomException](
        stampedRows(Seq(recordOf(Nil), readRecord(judged)), read.map(_ => ""), read))
      assertEquals(error.getCondition, "TRANSOM_ROWS_CHANGED")
      assertEquals(error.getMessageParameters.get("before"), s"$rows rows")
      assertEquals(
        error.getMessageParameters.get("now"),
        if (kind == "number") s"${rows - 1} rows"
        else s"$rows rows with other times or in another order")
    }
  }

  test("rows are refused if the stage has sent no sum") {
    val error = intercept[TransomException](stampedRows(Seq(recordOf(Nil)), List("a"), List(0L)))
    assertEquals(error.getMessageParameters.get("before"), "0 rows")
  }

  test("each task receives the stamps of its rows and the watermarks, the first the new one") {
    val (late, none) = (4L, Watermark.NotYet)
    val stamps = Iterator(
      stamp(RowNumbers.first(1), 1L, 10L, 0L),
      stamp(RowNumbers.first(0) + 7L, 2L, 11L, late),
      stamp(RowNumbers.first(1), 99L, 3L, Verdict.ReadRows),
      stamp(0L, 8L, 12L, Verdict.Watermark))
    val records = new RowStampRecords(stamps, 3).toList
    assertEquals(
      records.map { case (task, record) => (task, record.toList) },
      List(
        (0, List(10L, 12L, 8L) ++ noSum ++ List(7L, 2L, 11L, late)),
        (1, List(10L, none, none, 3L, 99L, RowNumbers.first(1), 1L, 10L, 0L)),
        (2, List(10L, none, none) ++ noSum)))
  }

  test("a row that no rule can judge says nothing about the watermark before the batch") {
    val reason = Verdict.unusable(DeadLetterReason.NoTime)
    val stamps =
      Iterator(stamp(0L, 0L, Watermark.NotYet, reason), stamp(1L, 5L, 4L, 0L))
    val records = new RowStamps(new RowStampRecords(stamps, 1).map(_._2).toVector)
    assertEquals(records.advance.before, 4L)
    assert(records.moveTo(0L))
    assertEquals(records.verdict, reason)
  }

  test("nothing is sent for a time stage without rows") {
    assertEquals(new RowStampRecords(Iterator.empty, 2).toList, Nil)
  }

  test("many stamps are sent in several records") {
    val stamps = Iterator.tabulate(5000)(i => stamp(i.toLong, 0L, 1L, 0L))
    val records = new RowStampRecords(stamps, 1).map(_._2).toVector
    assert(records.length > 1)
    val read = new RowStamps(records)
    assert((0 until 5000).forall(i => read.moveTo(i.toLong)))
  }

  private def chunksOf(texts: List[String]): Iterator[Array[Byte]] =
    chunksOf(texts, texts.indices.map(_.toLong))

  private def chunksOf(texts: Seq[String], times: Seq[Long]): Iterator[Array[Byte]] =
    new HeldRows(plan, plan.columns, rowsOf(texts, times))

  /** The time, watermark and verdict of each row. */
  private def stampedRows(
      records: Seq[Array[Long]],
      texts: List[String]): List[(Long, Long, Long)] = {
    val times = texts.indices.map(_.toLong)
    stampedRows(records :+ readRecord(times), texts, times)
  }

  private def stampedRows(
      records: Seq[Array[Long]],
      texts: List[String],
      times: Seq[Long]): List[(Long, Long, Long)] = {
    val chunks = chunksOf(texts, times)
    new StampedHeldRows(plan, new RowStamps(records), chunks, "window")
      .map(row => (row.getLong(0), row.getLong(3), row.getLong(4)))
      .toList
  }
}

private object HeldRowsSuite {

  /** The verdict on a late row. */
  private val Stamped = 4L

  private val policy = TimePolicy(
    timeColumn = Some(0),
    arrivalColumn = None,
    partitionColumn = None,
    partitions = Nil,
    overColumns = Nil,
    early = None,
    late = None,
    outOfOrder = Accept(0L),
    advance = Periodic(Some(1), None),
    idlePartitionUs = None,
    estimateArrival = false)

  private def column(name: String, dataType: DataType): Attribute =
    AttributeReference(name, dataType)()

  /** Rows with a time, an arrival, and a text. */
  val plan: TimeStagePlan = TimeStagePlan(
    policy,
    keyGroups = 1,
    time = column("time", LongType),
    arrival = column("arrival", LongType),
    partition = None,
    over = Nil,
    order = Nil,
    punctuation = None,
    end = None,
    carried = Seq(column("text", StringType)),
    holdsRows = true,
    keyFailed = None,
    windows = None)

  def rowsOf(texts: Seq[String], times: Seq[Long]): Iterator[InternalRow] =
    texts.iterator.zip(times.iterator).map { case (text, time) =>
      InternalRow(time, 0L, UTF8String.fromString(text))
    }

  /** The number and the sum in a record that has none. */
  val noSum: Array[Long] = Array(-1L, 0L)

  /** A record with the sum of the rows that the stage has judged. */
  def readRecord(times: Seq[Long]): Array[Long] = {
    val sum = new RowsSum(plan, plan.columns)
    rowsOf(times.map(_ => ""), times).foreach(sum.add)
    Array.fill(3)(Watermark.NotYet) ++ Array(sum.rows, sum.sum)
  }

  /** A record with stamps of rows and no watermark: each moves the time of its row by 100. */
  def recordOf(rows: Seq[Int]): Array[Long] =
    Array.fill(3)(Watermark.NotYet) ++ noSum ++
      rows.flatMap(i => Seq(i.toLong, i + 100L, i + 200L, Stamped))

  def stamp(number: Long, time: Long, watermark: Long, verdict: Long): InternalRow =
    InternalRow(number, time, watermark, verdict)
}
