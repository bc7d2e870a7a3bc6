package org.apache.spark.sql.transom.exchange

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.transom.{TestPlans, TestSpecs}
import org.apache.spark.sql.transom.batch.TaskWatermark
import org.apache.spark.sql.transom.planned.{JudgementColumns, WindowOperatorPlan}
import org.apache.spark.sql.types.BooleanType
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.judge.{Judgement, PolicyRule, PolicyRules}
import transom.engine.runtime.{DeadLetterReason, GroupInput}
import transom.engine.time.{Advance, Watermark}
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
  private val judgement = JudgementColumns.create()
  private val judged = plan.copy(judgement = Some(judgement), watermarkSource = Some("stage"))

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
      case (_, input: GroupInput.DeadLetter) =>
        Seq((input.reason.name, input.time, input.lateWatermark))
      case (_, input: GroupInput.Segment) =>
        Seq((if (input.waits) "waiting" else "segment", None, input.lateWatermark))
      case _ => Nil
    }

  /** The outcome of rows behind a time stage.
    *
    * @param before
    *   the watermark of the stage before the batch
    */
  private def judgedOutcome(
      plan: WindowOperatorPlan,
      before: Long,
      rows: InternalRow*): Seq[(String, Option[Long], Long)] = {
    TaskContext.setTaskContext(TaskContext.empty())
    try {
      TaskWatermark.of("stage").advance = Advance.from(before)
      outcome(plan, rows, judgement.all)
    } finally TaskContext.unset()
  }

  private def refused(reason: DeadLetterReason): Long = {
    val judgement = new Judgement
    judgement.refuse(reason)
    judgement.code
  }

  test("behind a time stage, its watermark before the batch shows which windows fired") {
    // Windows of two hours. The window until 1:00 has fired before the batch.
    val hopping = plan.spec.copy(window = Hopping(2 * Hour, Hour))
    val dropped = {
      val judgement = new Judgement
      judgement.broken = PolicyRules(PolicyRule.OutOfOrder)
      judgement.dropped = DeadLetterReason.OutOfOrder
      judgement.code
    }
    val unusable = row(null, Watermark.NotYet, refused(DeadLetterReason.NoTime))
    val first = row(0L, Hour, 0L)
    val windows = judged.copy(spec = hopping)
    assertEquals(
      judgedOutcome(windows, Hour, unusable, first),
      Seq(("no_time", None, Watermark.NotYet), ("segment", None, Hour)))
    assertEquals(
      judgedOutcome(windows, Hour, unusable, row(-Hour, Hour, dropped), first),
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
    val unusable = refused(DeadLetterReason.TimeOutOfRange)
    assertEquals(
      judgedOutcome(judged, Watermark.NotYet, row(Long.MaxValue, Watermark.NotYet, unusable)),
      Seq(("time_out_of_range", None, Watermark.NotYet)))
  }
}
