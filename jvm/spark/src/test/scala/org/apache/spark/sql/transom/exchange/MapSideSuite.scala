package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.transom.{TestPlans, TestSpecs}
import org.apache.spark.sql.transom.planned.{StampColumns, Verdict, WindowOperatorPlan}
import org.apache.spark.sql.types.BooleanType
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.policy.{PolicyRule, PolicyRules, Stamp}
import transom.engine.runtime.{DeadLetterReason, Event}
import transom.engine.time.Watermark
import transom.engine.window.Hopping

/** What every map side does before it adds a row. */
class MapSideSuite extends MapSideTest {
  import MapSideTest._

  private val plan = TestPlans
    .of(
      Seq(key),
      Nil,
      Seq(TestPlans.aggregate(Count(Seq(Literal(1))))),
      TestSpecs.hours.copy(deadLetters = true))
    .copy(row = input)
  private val stamp = StampColumns.create()

  private def row(time: java.lang.Long, more: Any*): InternalRow =
    InternalRow(Seq[Any](UTF8String.fromString("a"), time, 1L) ++ more: _*)

  /** The reasons of dead letters with their times and watermarks, and of each segment the
    * watermark and whether it waits.
    */
  private def outcome(
      plan: WindowOperatorPlan,
      rows: Seq[InternalRow],
      more: Seq[Attribute]): Seq[(String, Option[Long], Long)] =
    received(plan, rows, columns = input ++ more) {
      case (_, event: Event.DeadLetter) =>
        Seq((event.reason.name, event.time, event.lateWatermark))
      case (_, event: Event.Segment) =>
        Seq((if (event.waits) "waiting" else "segment", None, event.lateWatermark))
      case _ => Nil
    }

  test("behind a time stage, the first row that has met a watermark shows which windows fired") {
    // Windows of two hours. The window until 1:00 has fired before the batch.
    val hopping = plan.settings.copy(window = Hopping(2 * Hour, Hour))
    val dropped = Verdict.of {
      val judged = new Stamp
      judged.broken = PolicyRules(PolicyRule.OutOfOrder)
      judged.dropped = DeadLetterReason.OutOfOrder
      judged
    }
    val unusable = row(null, Watermark.NotYet, Verdict.unusable(DeadLetterReason.NoTime))
    val first = row(0L, Hour, 0L)
    val stamped = plan.copy(settings = hopping, stamp = Some(stamp))
    assertEquals(
      outcome(stamped, Seq(unusable, first), stamp.all),
      Seq(("no_time", None, Watermark.NotYet), ("segment", None, Hour)))
    assertEquals(
      outcome(stamped, Seq(unusable, row(-Hour, Hour, dropped), first), stamp.all),
      Seq(
        ("no_time", None, Watermark.NotYet),
        ("out_of_order", Some(-Hour), Hour),
        ("segment", None, Hour)))
  }

  test("a row with a failed key becomes a dead letter, unless it has no usable time") {
    val failed = AttributeReference("key_failed", BooleanType)()
    val rows = Seq(row(null, true), row(Long.MaxValue, true), row(Hour, true), row(Hour, false))
    assertEquals(
      outcome(plan.copy(keyFailed = Some(failed)), rows, Seq(failed)),
      Seq(
        ("no_time", None, Watermark.NotYet),
        ("time_out_of_range", None, Watermark.NotYet),
        ("key_failed", Some(Hour), Watermark.NotYet),
        ("segment", None, Watermark.NotYet)))
  }

  test("behind a time stage, a dead letter has no time if its time is out of range") {
    val stamped = plan.copy(stamp = Some(stamp))
    val unusable = Verdict.unusable(DeadLetterReason.TimeOutOfRange)
    assertEquals(
      outcome(stamped, Seq(row(Long.MaxValue, Watermark.NotYet, unusable)), stamp.all),
      Seq(("time_out_of_range", None, Watermark.NotYet)))
  }
}
