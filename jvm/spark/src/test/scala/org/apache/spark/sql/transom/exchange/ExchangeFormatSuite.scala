package org.apache.spark.sql.transom.exchange

import munit.ScalaCheckSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.TestPlans
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.runtime.{DeadLetterReason, GroupInput, RowCounts}
import transom.engine.state.KeyGroups
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.Grid

class ExchangeFormatSuite extends ScalaCheckSuite {
  import RowChunkSuite._

  private val lateWatermark = 1700000000000000L
  private val plan = TestPlans.of(Nil, Nil, Nil)
  private val group = Gen.choose(0, 6)

  /** The row in bytes of its own, as an exchange delivers it. */
  private def delivered(row: InternalRow): UnsafeRow = row.copy().asInstanceOf[UnsafeRow]

  private def newEncoder() = new ExchangeEncoder(plan.order)
  private def inputsOf(row: InternalRow): Iterator[GroupInput] =
    ExchangeDecoder.of(plan).inputs(Iterator.single(row))

  private def groupOf(row: InternalRow): Int = row.getInt(ExchangeFormat.Group)

  property("segments of several key groups are decoded with their slices and their watermark") {
    val segments = Gen.listOf(Gen.zip(Gen.long, Gen.containerOf[Array, Byte](Gen.choose(0, 9))))
    val after = Gen.option(Gen.choose(-99L, 99L))
    forAll(Gen.listOf(Gen.zip(group, segments, after))) { batches =>
      val encoder = newEncoder()
      val rows = batches.map { case (group, segments, after) =>
        val batch = new SegmentBatch(1 << 20)
        segments.foreach { case (slice, bytes) => batch.add(slice, bytes) }
        delivered(
          after.fold(encoder.segments(group, batch, lateWatermark))(
            encoder.waitingSegments(group, batch, _)))
      }
      val read = rows.map { row =>
        inputsOf(row).map {
          case input: GroupInput.Segment =>
            (input.slice, input.bytes.toSeq, input.lateWatermark, input.waits)
          case other => fail(s"$other is not a segment")
        }.toList
      }
      assertEquals(rows.map(groupOf), batches.map(batch => KeyGroups.idOf(batch._1)))
      assertEquals(
        read,
        batches.map { case (_, segments, after) =>
          segments.map { case (slice, bytes) =>
            (slice, bytes.toSeq, after.getOrElse(lateWatermark), after.isDefined)
          }
        })
    }
  }

  property("rows of several key groups are decoded with their times and their watermark") {
    forAll(Gen.listOf(Gen.zip(group, rows))) { chunks =>
      val encoder = newEncoder()
      val sent = chunks.map { case (group, rows) =>
        val chunk = new RowChunk(1 << 20)
        rows.foreach(addTo(chunk, _))
        delivered(encoder.rows(group, chunk, lateWatermark))
      }
      val read = sent.map { row =>
        inputsOf(row).map {
          case input: GroupInput.Row =>
            assertEquals(input.context.slice, Grid.NoSlice)
            rowOf(input, lateWatermark)
          case other => fail(s"$other is not a row")
        }.toList
      }
      assertEquals(sent.map(groupOf), chunks.map(chunk => KeyGroups.idOf(chunk._1)))
      assertEquals(read, chunks.map(_._2))
    }
  }

  property("a dead letter is decoded with its reason, its time and its input") {
    val reasons = Gen.oneOf(DeadLetterReason.all)
    val inputs = Gen.listOf(Gen.choose[Byte](-128, 127))
    forAll(group, reasons, Gen.option(Gen.long), inputs) { (group, reason, time, input) =>
      val row =
        delivered(newEncoder().deadLetter(group, reason, time, lateWatermark, input.toArray))
      assertEquals(groupOf(row), KeyGroups.idOf(group))
      inputsOf(row).toList match {
        case List(letter: GroupInput.DeadLetter) =>
          assertEquals(
            (letter.reason, letter.time, list(letter.input), letter.lateWatermark),
            (reason, time, input, lateWatermark))
        case other => fail(s"$other is not a single dead letter")
      }
    }
  }

  property("the counts of a task go to the first key group") {
    forAll(Gen.listOfN(RowCounts.all.length, Gen.choose(0L, Long.MaxValue))) { numbers =>
      val counts = new RowCounts
      RowCounts.all.zip(numbers).foreach { case (count, number) => counts.add(count, number) }
      val row = delivered(newEncoder().counts(counts))
      assertEquals(groupOf(row), KeyGroups.idOf(0))
      inputsOf(row).toList match {
        case List(read: GroupInput.Counts) =>
          val sum = new RowCounts
          sum.add(read.bytes)
          assertEquals(sum.toSeq, numbers)
        case other => fail(s"$other is not a single message of counts")
      }
    }
  }

  test("positions grow from row to row, and a tick comes after all of them") {
    val encoder = newEncoder()
    def position(row: InternalRow): Long = row.getLong(ExchangeFormat.Position)
    val positions = Seq.fill(3)(position(encoder.rows(1, new RowChunk(1), lateWatermark))) ++
      Seq.fill(3)(position(encoder.segments(2, new SegmentBatch(1), lateWatermark)))
    assertEquals(positions, positions.distinct.sorted)
    val tick = delivered(encoder.tick(3))
    assert(position(tick) > positions.last)
    assertEquals(groupOf(tick), KeyGroups.idOf(3))
    assertEquals(inputsOf(tick).toList, List[GroupInput](GroupInput.Tick))
  }

  test("a watermark comes after all rows of its key group") {
    val row = delivered(newEncoder().watermark(3, Advance(Watermark.NotYet, 77L, 75L)))
    assertEquals(groupOf(row), KeyGroups.idOf(3))
    assertEquals(row.getLong(ExchangeFormat.Position), Long.MaxValue)
    inputsOf(row).toList match {
      case List(advanced: GroupInput.Advanced) =>
        assertEquals(advanced.advance, Advance(Watermark.NotYet, 77L, 75L))
      case other => fail(s"$other is not a single watermark")
    }
  }

  test("the code of a kind is its position, and a row of an unknown kind is refused") {
    val codes = PayloadKind.all.map(_.code)
    assertEquals(codes, codes.indices.toVector)
    assertEquals(codes.map(PayloadKind.of), PayloadKind.all)
    Seq(-1, codes.length).foreach { code =>
      val row = delivered(newEncoder().tick(1))
      row.setInt(ExchangeFormat.Kind, code)
      val error = intercept[IllegalStateException](inputsOf(row).toList)
      assertEquals(error.getMessage, s"no kind of exchange row has the code $code")
    }
  }

  test("the user's order columns come before the position, and may be null") {
    val order = Seq(
      AttributeReference("name", StringType, nullable = false)(),
      AttributeReference("number", LongType, nullable = false)())
    val encoder = new ExchangeEncoder(order)
    val values = InternalRow(UTF8String.fromString("a long name of a row"), 7L)
    val row = delivered(encoder.rows(1, new RowChunk(1), lateWatermark, values))
    val unordered = delivered(encoder.tick(1))
    val attributes = ExchangeFormat.attributes(order)
    val sortedBy = ExchangeFormat.inOrder(attributes).map(_.child)
    assertEquals(
      sortedBy.collect { case column: Attribute => column.name },
      Seq("group", "name", "number", "position"))
    val columns = BindReferences.bindReferences(sortedBy.slice(1, 3), attributes)
    assertEquals(columns.map(_.eval(row)), Seq[Any](values.getUTF8String(0), 7L))
    assertEquals(columns.map(_.eval(unordered)), Seq[Any](null, null))
  }
}
