package transom.engine.judge

import transom.engine.runtime.{DeadLetterReason, RowCount, RowCounts}
import transom.engine.time.Watermark
import transom.engine.window.RowContext

/** What becomes of a row by its time policy. One mutable instance is reused for all rows. Only a
  * judge and `read` change it.
  *
  * Times are microseconds since 1970.
  */
final class Judgement {

  /** The time in force: the row's own time, or the time to which a rule has moved the row.
    * `RowContext.NoTime` if the row is dropped.
    */
  var time: Long = RowContext.NoTime

  /** The watermark of the row's source that the row met, or `Watermark.NotYet`. */
  var watermark: Long = Watermark.NotYet

  /** The rules that the row broke. */
  var broken: PolicyRules = PolicyRules.None

  /** Whether a rule has moved the row. */
  var isAdjusted: Boolean = false

  /** Why the row is dropped, or null. If no rule is broken, no rule could judge the row. */
  var dropped: DeadLetterReason = _

  /** Whether the row is punctuation. Its `time` is the watermark that it sets. */
  var isPunctuation: Boolean = false

  private[judge] def start(met: Long): Unit = {
    time = RowContext.NoTime
    watermark = met
    broken = PolicyRules.None
    isAdjusted = false
    dropped = null
    isPunctuation = false
  }

  private[judge] def drop(reason: DeadLetterReason): Unit = {
    time = RowContext.NoTime
    dropped = reason
  }

  /** Makes the row meet a watermark of others too, if it is ahead of that of its source. */
  private[judge] def meet(watermark: Long): Unit =
    this.watermark = math.max(this.watermark, watermark)

  private[judge] def punctuate(at: Long): Unit = {
    time = at
    isPunctuation = true
  }

  /** Makes this the judgement on a row that no rule can judge. */
  def refuse(reason: DeadLetterReason): Unit = {
    start(Watermark.NotYet)
    drop(reason)
  }

  /** Counts the judgement. */
  def count(counts: RowCounts): Unit =
    if (isPunctuation) counts.add(RowCounts.Punctuation)
    else if (!broken.isEmpty || dropped != null) {
      PolicyRule.all.foreach(rule => if (broken.contains(rule)) counts.add(rule.count))
      if (dropped != null) counts.add(dropped.count)
      else if (isAdjusted) counts.add(RowCounts.Adjusted)
    }

  /** The judgement without its times as a number, [[Judgement.Plain]] for most rows: the rules
    * that the row broke, a bit for an adjusted time, a bit for punctuation, and the position of
    * the reason plus 1.
    */
  def code: Long = {
    val reason = if (dropped == null) 0L else DeadLetterReason.all.indexOf(dropped) + 1L
    broken.bits | (if (isAdjusted) Judgement.Adjusted else 0L) |
      (if (isPunctuation) Judgement.Punctuation else 0L) | reason << Judgement.ReasonShift
  }

  /** Reads a judgement from its times and its code. The time of a dropped row is ignored. */
  def read(time: Long, watermark: Long, code: Long): Unit = {
    start(watermark)
    if (code == Judgement.Plain) this.time = time
    else {
      broken = new PolicyRules((code & Judgement.Rules).toInt)
      isAdjusted = (code & Judgement.Adjusted) != 0
      isPunctuation = (code & Judgement.Punctuation) != 0
      val reason = (code >>> Judgement.ReasonShift).toInt
      if (reason != 0) dropped = DeadLetterReason.all(reason - 1) else this.time = time
    }
  }
}

/** The codes of judgements. */
object Judgement {

  /** An accepted row that broke no rule. */
  final val Plain = 0L

  private final val Rules = 0xffL
  private final val Adjusted = 0x100L
  private final val Punctuation = 0x200L
  private final val ReasonShift = 10
}

/** A rule of a time policy.
  *
  * @param reason
  *   why a row is dropped that breaks the rule
  * @param count
  *   the count of rows that break the rule
  */
sealed abstract class PolicyRule(val reason: DeadLetterReason, val count: RowCount) {

  /** The name that users see. */
  def name: String = reason.name

  private[judge] lazy val bit: Int = 1 << PolicyRule.all.indexOf(this)

  override def toString: String = name
}

/** The values of [[PolicyRule]]. */
object PolicyRule {
  case object Early extends PolicyRule(DeadLetterReason.Early, RowCounts.Early)
  case object LateArrival extends PolicyRule(DeadLetterReason.LateArrival, RowCounts.LateArrival)
  case object OutOfOrder extends PolicyRule(DeadLetterReason.OutOfOrder, RowCounts.OutOfOrder)

  /** All rules, in the order in which they are applied. */
  val all: IndexedSeq[PolicyRule] = IndexedSeq(Early, LateArrival, OutOfOrder)
}

/** A set of rules.
  *
  * @param bits
  *   a bit for each rule, by its position in `PolicyRule.all`
  */
final class PolicyRules(val bits: Int) extends AnyVal {
  def isEmpty: Boolean = bits == 0

  def contains(rule: PolicyRule): Boolean = (bits & rule.bit) != 0

  def +(rule: PolicyRule): PolicyRules = new PolicyRules(bits | rule.bit)

  /** The rules in the order in which they are applied. */
  def toSeq: IndexedSeq[PolicyRule] = PolicyRule.all.filter(contains)

  override def toString: String = toSeq.mkString("PolicyRules(", ", ", ")")
}

object PolicyRules {

  val None: PolicyRules = new PolicyRules(0)

  def apply(rules: PolicyRule*): PolicyRules = rules.foldLeft(None)(_ + _)
}
