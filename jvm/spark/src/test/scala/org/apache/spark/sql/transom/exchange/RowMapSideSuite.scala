package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.{TestPlans, TestSpecs}
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.planned.{KeyedLayout, Placement, WindowOperatorPlan}
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.runtime.{DeadLetterReason, GroupInput}
import transom.engine.spec.LateRows
import transom.engine.state.ByteRange
import transom.engine.window.DynamicSession

class RowMapSideSuite extends MapSideTest {
  import MapSideTest._

  private val limits: Gen[Option[Int]] = Gen.option(Gen.oneOf(1, 500))

  // The column `value` doubles as the gap of a session. Sessions do not combine rows.
  private val plan = TestPlans
    .of(
      Seq(key),
      Nil,
      Nil,
      TestSpecs.hours
        .copy(window = DynamicSession(2), keyGroups = 5, deadLetters = true),
      KeyedLayout)
    .copy(placement = Some(Placement.Gap(value)), row = input)

  private def hasGap(row: InputRow): Boolean = row.value.exists(_ > 0)

  /** The rows of each key group, in order. */
  private def rowsByGroup(
      plan: WindowOperatorPlan,
      rows: Seq[InputRow],
      limit: Option[Int]): Map[Int, Seq[InputRow]] =
    received(plan, rows.map(_.internal), limit = limit) {
      case (group, input: GroupInput.Row) =>
        assertEquals(recordOf(input.value), (input.context.time, input.context.gap))
        assertEquals(input.input.length, 0)
        val gap = input.context.gap
        Seq(group -> InputRow(keyOf(input.key), Some(input.context.time), Some(gap)))
      case _ => Nil
    }.groupMap(_._1)(_._2)

  property("rows of a key group keep their order, and a key has one key group") {
    forAll(rows, limits) { (rows, limit) =>
      val found = rowsByGroup(plan, rows, limit)
      val groupOf = found.toSeq.flatMap { case (group, rows) => rows.map(_.key -> group) }.toMap
      val expected = rows.filter(row => row.isInRange && hasGap(row))
      assertEquals(found, expected.groupBy(row => groupOf(row.key)))
    }
  }

  property("a row without a gap becomes a dead letter with its time") {
    forAll(rows, limits) { (rows, limit) =>
      val letters = received(plan, rows.map(_.internal), limit = limit) {
        case (_, input: GroupInput.DeadLetter) if input.reason == DeadLetterReason.BadGap =>
          Seq(input.time)
        case _ => Nil
      }
      assertEquals(letters, rows.filter(row => row.isInRange && !hasGap(row)).map(_.time))
    }
  }

  property("a row that may be late carries its input, if late rows are wanted") {
    val reporting = plan.copy(spec = plan.spec.copy(lateRows = LateRows.Late))
    forAll(rows, limits) { (rows, limit) =>
      val whole = received(reporting, rows.map(_.internal), watermark = 0L, limit) {
        case (_, input: GroupInput.Row) => Seq((input.context.time, input.input.length > 0))
        case _ => Nil
      }
      val expected = rows.collect {
        case row if row.isInRange && hasGap(row) => (row.time.get, row.time.get < 0)
      }
      assertEquals(whole.sorted, expected.sorted)
    }
  }

  property("with order columns each row crosses alone, with its own order values") {
    val ordered = plan.copy(order = Seq(value))
    forAll(rows) { rows =>
      val sent = new MapSidePlan(ordered, input, 0L)
        .create()
        .encode(rows.map(_.internal).iterator)
        .filter(ExchangeFormat.kindOf(_) == PayloadKind.Rows)
        .map { row =>
          val order = row.getLong(ExchangeFormat.Payload + 1)
          val inputs = ExchangeDecoder.of(ordered).inputs(Iterator.single(row)).map {
            case input: GroupInput.Row => input.context.gap
            case other => fail(s"$other is not a row")
          }
          (order, inputs.toList)
        }
        .toList
      val expected = rows.filter(row => row.isInRange && hasGap(row)).map(_.value.get)
      assertEquals(sent, expected.map(gap => (gap, List(gap))))
    }
  }

  /** Time and gap of a record. */
  private def recordOf(bytes: ByteRange): (Long, Long) = {
    val row = new UnsafeRow(plan.record.length)
    row.pointTo(bytes.bytes, UnsafeRows.offset(bytes), bytes.length)
    (row.getLong(0), row.getLong(1))
  }
}
