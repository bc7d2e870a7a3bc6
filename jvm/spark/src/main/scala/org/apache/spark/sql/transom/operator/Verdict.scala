package org.apache.spark.sql.transom.operator

import transom.engine.operator.{DeadLetterReason, RowCounts}
import transom.engine.policy.{Stamp, TimeStage}

/** The decision of a time policy about a row, as a number: the rules that the row broke in three
  * bits, a bit for an adjusted time, a bit for punctuation, and the reason if the row is dropped.
  */
object Verdict {

  /** Marks a row that carries a watermark instead of input. Its time is the watermark without the
    * idle timeout.
    */
  final val Watermark = -1L

  /** Marks a row that carries the watermark by which windows had fired before the batch. */
  final val FiredBefore = -2L

  /** Marks the rows that a map-side task has kept: its time is their sum, and its watermark their
    * number.
    */
  final val ReadRows = -3L

  private final val Rules = 7L
  private final val Adjusted = 8L
  private final val Punctuation = 16L
  private final val ReasonShift = 5

  def of(stamp: Stamp): Long =
    stamp.rules | (if (stamp.isAdjusted) Adjusted else 0L) |
      (if (stamp.isPunctuation) Punctuation else 0L) |
      Option(stamp.dropped).fold(0L)(reasonBits)

  /** The verdict on a row that no rule can judge. */
  def unusable(reason: DeadLetterReason): Long = reasonBits(reason)

  /** The numbers of the rules that the row broke, see `Stamp.ruleNames`. */
  def rules(verdict: Long): Seq[Int] =
    Stamp.ruleNames.indices.filter(rule => (verdict & (1L << rule)) != 0)

  def isAdjusted(verdict: Long): Boolean = (verdict & Adjusted) != 0

  def isPunctuation(verdict: Long): Boolean = (verdict & Punctuation) != 0

  /** Whether the verdict has anything to count or report. */
  def isPlain(verdict: Long): Boolean = verdict == 0L

  /** Whether the row has met a watermark: the rules have judged the row, or it is punctuation. A
    * row that a rule has dropped has broken the rule.
    */
  def isJudged(verdict: Long): Boolean = (verdict & Rules) != 0 || (verdict >>> ReasonShift) == 0

  /** Why the row is dropped; none if the row is accepted. */
  def dropped(verdict: Long): Option[DeadLetterReason] = {
    val reason = (verdict >>> ReasonShift).toInt
    if (reason == 0) None else Some(DeadLetterReason.of(reason - 1))
  }

  /** Counts a verdict. */
  def count(counts: RowCounts, verdict: Long): Unit =
    if (isPunctuation(verdict)) counts.add(RowCounts.Punctuation)
    else
      TimeStage.count(counts, (verdict & Rules).toInt, isAdjusted(verdict), dropped(verdict))

  private def reasonBits(reason: DeadLetterReason): Long = (reason.code + 1L) << ReasonShift
}
