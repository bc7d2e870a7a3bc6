package org.apache.spark.sql.transom.exchange

import munit.ScalaCheckSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.batch.TaskWatermark
import org.apache.spark.sql.transom.planned.TimeStagePlan
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.judge.Judgement
import transom.engine.runtime.DeadLetterReason
import transom.engine.spec.{Accept, Periodic, TimePolicy}
import transom.engine.time.{Advance, Watermark}

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

  property("each row has its judgement, whatever the order and the number of the records") {
    val numbers = Gen.choose(0, 40).flatMap(n => Gen.someOf(0 until n).map(n -> _.toSet))
    forAll(numbers, Gen.long) { case ((rows, judged), seed) =>
      val emitted = new scala.util.Random(seed).shuffle(judged.toList)
      val records = emitted.grouped(3).map(recordOf).toSeq
      val expected = List.tabulate(rows) { i =>
        if (judged(i)) (i + 100L, i + 200L, Late) else (i.toLong, Watermark.NotYet, 0L)
      }
      assertEquals(judgedRows(records, List.fill(rows)("")), expected)
      // No watermark before the batch, although the first row may have met one.
      assertEquals(new HeldJudgements(records).advance, Advance.Unknown)
    }
  }

  test("the watermarks before and after the batch are in the records, also without rows") {
    // The idle timeout has moved the watermark from 7 to 9.
    val record = Array(5L, 9L, 7L) ++ noSum
    assertEquals(new HeldJudgements(Seq(record)).advance, Advance(5L, 9L, 7L))
    assertEquals(judgedRows(Seq(record), Nil), Nil)
    assertEquals(judgedRows(Seq(record), List("a")), List((0L, Watermark.NotYet, 0L)))
  }

  test("a dropped row keeps its own time") {
    val code = refused(DeadLetterReason.Early)
    val none = Watermark.NotYet
    val record = Array(none, none, none) ++ noSum ++ Array(0L, 77L, 3L, code)
    assertEquals(judgedRows(Seq(record), List("a")).last, (0L, 3L, code))
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
        judgedRows(Seq(recordOf(Nil), readRecord(judged)), read.map(_ => ""), read))
      assertEquals(error.getCondition, "TRANSOM_ROWS_CHANGED")
      assertEquals(error.getMessageParameters.get("before"), s"$rows rows")
      assertEquals(
        error.getMessageParameters.get("now"),
        if (kind == "number") s"${rows - 1} rows"
        else s"$rows rows with other times or in another order")
    }
  }

  test("rows are refused if the stage has sent no sum") {
    val error = intercept[TransomException](judgedRows(Seq(recordOf(Nil)), List("a"), List(0L)))
    assertEquals(error.getMessageParameters.get("before"), "0 rows")
  }

  test("each task receives the judgements and the watermarks, the first the new one") {
    val (late, none) = (4L, Watermark.NotYet)
    val rows = Iterator(
      judged(RowNumbers.first(1), 1L, 10L, 0L),
      judged(RowNumbers.first(0) + 7L, 2L, 11L, late),
      InternalRow(JudgementRowKind.Read.code, RowNumbers.first(1), 99L, 3L, 0L))
    val records = recordsOf(rows, 3, Advance(10L, 12L, 8L))
    assertEquals(
      records.map { case (task, record) => (task, record.toList) },
      List(
        (0, List(10L, 12L, 8L) ++ noSum ++ List(7L, 2L, 11L, late)),
        (1, List(10L, none, none, 3L, 99L, RowNumbers.first(1), 1L, 10L, 0L)),
        (2, List(10L, none, none) ++ noSum)))
  }

  test("a row that no rule can judge says nothing about the watermark before the batch") {
    val reason = refused(DeadLetterReason.NoTime)
    val rows =
      Iterator(judged(0L, 0L, Watermark.NotYet, reason), judged(1L, 5L, 4L, 0L))
    val judgements = new HeldJudgements(recordsOf(rows, 1, Advance.from(4L)).map(_._2))
    assertEquals(judgements.advance.before, 4L)
    assert(judgements.moveTo(0L))
    assertEquals(judgements.code, reason)
  }

  test("nothing is sent for a time stage without rows") {
    assertEquals(recordsOf(Iterator.empty, 2, Advance.Unknown), Nil)
  }

  test("many judgements are sent in several records") {
    val rows = Iterator.tabulate(5000)(i => judged(i.toLong, 0L, 1L, 0L))
    val records = recordsOf(rows, 1, Advance.Unknown).map(_._2)
    assert(records.length > 1)
    val read = new HeldJudgements(records)
    assert((0 until 5000).forall(i => read.moveTo(i.toLong)))
  }

  private def recordsOf(
      rows: Iterator[InternalRow],
      splits: Int,
      advance: Advance): List[(Int, Array[Long])] = {
    val watermark = new TaskWatermark
    watermark.advance = advance
    new JudgementRecords(rows, splits, watermark).toList
  }

  private def chunksOf(texts: List[String]): Iterator[Array[Byte]] =
    chunksOf(texts, texts.indices.map(_.toLong))

  private def chunksOf(texts: Seq[String], times: Seq[Long]): Iterator[Array[Byte]] =
    new HeldRows(plan, plan.columns, rowsOf(texts, times))

  /** The time, watermark and code of each row. */
  private def judgedRows(
      records: Seq[Array[Long]],
      texts: List[String]): List[(Long, Long, Long)] = {
    val times = texts.indices.map(_.toLong)
    judgedRows(records :+ readRecord(times), texts, times)
  }

  private def judgedRows(
      records: Seq[Array[Long]],
      texts: List[String],
      times: Seq[Long]): List[(Long, Long, Long)] = {
    val chunks = chunksOf(texts, times)
    new JudgedHeldRows(plan, new HeldJudgements(records), chunks, "window")
      .map(row => (row.getLong(0), row.getLong(3), row.getLong(4)))
      .toList
  }
}

private object HeldRowsSuite {

  /** The code of a late row. */
  private val Late = 4L

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
    name = "window/time stage",
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

  /** A record with judgements on rows and no watermark: each moves the time of its row by 100. */
  def recordOf(rows: Seq[Int]): Array[Long] =
    Array.fill(3)(Watermark.NotYet) ++ noSum ++
      rows.flatMap(i => Seq(i.toLong, i + 100L, i + 200L, Late))

  def judged(number: Long, time: Long, watermark: Long, code: Long): InternalRow =
    InternalRow(JudgementRowKind.Judged.code, number, time, watermark, code)

  /** The code of a row that no rule can judge. */
  def refused(reason: DeadLetterReason): Long = {
    val judgement = new Judgement
    judgement.refuse(reason)
    judgement.code
  }
}
