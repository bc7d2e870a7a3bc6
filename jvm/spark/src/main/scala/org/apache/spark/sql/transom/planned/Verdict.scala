package org.apache.spark.sql.transom.planned

import transom.engine.runtime.{DeadLetterReason, RowCounts}
import transom.engine.policy.{PolicyRules, Stamp, TimeStage}

/** The decision of a time policy about a row, as a number: the rules that the row broke, a bit
  * for an adjusted time, a bit for punctuation, and the reason if the row is dropped.
  */
object Verdict {

  /** Marks a row that carries a watermark instead of input. Its time is the watermark without the
    * idle timeout.
    */
  final val Watermark = -1L

  /** Marks a row that carries the watermark by which windows had fired before the batch. */
  final val WatermarkBefore = -2L

  /** Marks the rows that a map-side task has kept: its time is their sum, and its watermark their
    * number.
    */
  final val ReadRows = -3L

  private final val Rules = 0xffL
  private final val Adjusted = 0x100L
  private final val Punctuation = 0x200L
  private final val ReasonShift = 10

  def of(stamp: Stamp): Long =
    stamp.broken.bits | (if (stamp.isAdjusted) Adjusted else 0L) |
      (if (stamp.isPunctuation) Punctuation else 0L) |
      Option(stamp.dropped).fold(0L)(unusable)

  /** The verdict on a row that no rule can judge. */
  def unusable(reason: DeadLetterReason): Long =
    (DeadLetterReason.all.indexOf(reason) + 1L) << ReasonShift

  /** The rules that the row broke. */
  def rules(verdict: Long): PolicyRules = new PolicyRules((verdict & Rules).toInt)

  def isAdjusted(verdict: Long): Boolean = (verdict & Adjusted) != 0

  def isPunctuation(verdict: Long): Boolean = (verdict & Punctuation) != 0

  /** Whether the verdict has anything to count or report. */
  def isPlain(verdict: Long): Boolean = verdict == 0L

  /** Whether the row has met a watermark: the rules have judged the row, or it is punctuation. A
    * row that a rule has dropped has broken the rule.
    */
  def isJudged(verdict: Long): Boolean = !rules(verdict).isEmpty || reasonOf(verdict) == 0

  /** Why the row is dropped; none if the row is accepted. */
  def dropped(verdict: Long): Option[DeadLetterReason] = {
    val reason = reasonOf(verdict)
    if (reason == 0) None else Some(DeadLetterReason.all(reason - 1))
  }

  /** Counts a verdict. */
  def count(counts: RowCounts, verdict: Long): Unit =
    if (isPunctuation(verdict)) counts.add(RowCounts.Punctuation)
    else TimeStage.count(counts, rules(verdict), isAdjusted(verdict), dropped(verdict))

  /** The position of the reason in `DeadLetterReason.all` plus 1; 0 if the row is accepted. */
  private def reasonOf(verdict: Long): Int = (verdict >>> ReasonShift).toInt
}
