package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{CollectList, Count, Sum}
import org.apache.spark.sql.transom.{TestPlans, TestSpecs}
import org.apache.spark.sql.transom.aggregate.{FinalAggregation, UnsafeRows}
import org.apache.spark.sql.transom.planned.WindowOperatorPlan
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.runtime.{DeadLetterReason, GroupInput}
import transom.engine.spec.LateRows
import transom.engine.state.{ByteRange, Cursor}

class CombiningMapSideSuite extends MapSideTest {
  import MapSideTest._

  private type Result = (Long, Option[Long], Seq[Long])

  private val limits: Gen[Option[Int]] = Gen.option(Gen.oneOf(1, 500))

  private val functions = Seq(Count(Seq(Literal(1))), new Sum(value), new CollectList(value))
  private def planOf(lateRows: LateRows): WindowOperatorPlan =
    TestPlans
      .of(
        Seq(key),
        Seq(value),
        functions.map(TestPlans.aggregate),
        TestSpecs.hours.copy(keyGroups = 5, lateRows = lateRows, deadLetters = true))
      .copy(row = input)
  private val plan = planOf(LateRows.No)

  private val merger = new FinalAggregation(plan)

  /** Merges accumulators and returns count, sum and sorted list. */
  private def merged(accumulators: Seq[ByteRange]): Result = {
    merger.start(accumulators.head)
    accumulators.tail.foreach(merger.merge(_))
    val row = merger.result(new ByteRange().set(new Array[Byte](16), 0, 16), 0L, 0L)
    val Seq(count, sum, list) = plan.output.results: @unchecked
    (
      row.getLong(count),
      Option.when(!row.isNullAt(sum))(row.getLong(sum)),
      row.getArray(list).toLongArray().toSeq.sorted)
  }

  private def modelOf(rows: Seq[InputRow]): Result = {
    val values = rows.flatMap(_.value)
    (rows.length.toLong, Option.when(values.nonEmpty)(values.sum), values.sorted)
  }

  private def copyOf(range: ByteRange): ByteRange =
    new ByteRange().set(range.bytes.clone, range.offset, range.length)

  private def sliceOf(row: InputRow): Long = Math.floorDiv(row.time.get, Hour) * Hour

  property("accumulators of a key and slice hold its rows, and a key has one key group") {
    forAll(rows, limits) { (rows, limit) =>
      val records = received(plan, rows.map(_.internal), limit = limit) {
        case (group, input: GroupInput.Segment) =>
          val cursor = new Cursor(Iterator(input.bytes))
          Iterator
            .continually(cursor)
            .takeWhile(_.advance())
            .map(c => ((keyOf(c.key), input.slice), (group, copyOf(c.accumulator))))
            .toVector
        case _ => Nil
      }
      val expected = rows.filter(_.isInRange).groupBy(row => (row.key, sliceOf(row)))
      val found = records.groupMap(_._1)(_._2)
      assertEquals(
        found.transform((_, r) => merged(r.map(_._2))),
        expected.transform((_, r) => modelOf(r)))
      val groups = records.map { case ((key, _), (group, _)) => (key, group) }.distinct
      assertEquals(groups.map(_._1), groups.map(_._1).distinct)
    }
  }

  property("each row is counted, and rows without a usable time become dead letters") {
    forAll(rows, limits) { (rows, limit) =>
      val counts = received(plan, rows.map(_.internal), limit = limit) {
        case (_, input: GroupInput.Counts) => Seq(countsOf(input))
        case _ => Nil
      }
      val (timed, untimed) = rows.partition(_.time.isDefined)
      assertEquals(
        counts,
        Seq(
          counted(
            "rows_in" -> rows.length,
            "rows_without_time" -> untimed.length,
            "rows_out_of_range" -> timed.count(!_.isInRange))))
      val letters = received(plan, rows.map(_.internal), limit = limit) {
        case (_, input: GroupInput.DeadLetter) =>
          assertEquals(input.time, None)
          Seq((input.reason: DeadLetterReason, inputOf(input.input)))
        case _ => Nil
      }
      val expected = rows.filterNot(_.isInRange).map { row =>
        if (row.time.isEmpty) (DeadLetterReason.NoTime, row)
        else (DeadLetterReason.TimeOutOfRange, row)
      }
      assertEquals(letters, expected)
    }
  }

  property("rows of fired windows cross one by one with their input, if late rows are emitted") {
    forAll(rows, limits) { (rows, limit) =>
      // The window [0, 1 hour) fires at this watermark.
      val late = rows.filter(row => row.isInRange && row.time.get < Hour)
      val alone = received(planOf(LateRows.Late), rows.map(_.internal), Hour, limit) {
        case (_, input: GroupInput.Row) =>
          assertEquals(merged(Seq(input.value))._1, 1L)
          assertEquals(keyOf(input.key), inputOf(input.input).key)
          assertEquals(Option(input.context.time), inputOf(input.input).time)
          assert(!input.isPartlyLate)
          Seq(inputOf(input.input))
        case _ => Nil
      }
      assertEquals(alone, late)
      val counts = received(plan, rows.map(_.internal), Hour, limit) {
        case (_, input: GroupInput.Counts) => Seq(countsOf(input).getOrElse("rows_late", 0L))
        case (_, input: GroupInput.Row) => fail(s"$input is a row")
        case _ => Nil
      }
      assertEquals(counts, Seq(late.length.toLong))
    }
  }

  private def inputOf(bytes: ByteRange): InputRow = {
    val row = new UnsafeRow(input.length)
    row.pointTo(bytes.bytes, UnsafeRows.offset(bytes), bytes.length)
    InputRow(
      Option(row.getUTF8String(0)).map(_.toString),
      Option.when(!row.isNullAt(1))(row.getLong(1)),
      Option.when(!row.isNullAt(2))(row.getLong(2)))
  }
}
