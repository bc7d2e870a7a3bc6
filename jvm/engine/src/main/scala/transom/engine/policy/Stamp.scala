package transom.engine.policy

import transom.engine.runtime.{DeadLetterReason, RowCount, RowCounts}
import transom.engine.time.Watermark
import transom.engine.window.Arrival

/** What a time policy has decided about a row. One mutable instance is reused for all rows.
  *
  * Times are microseconds since 1970.
  */
final class Stamp {

  /** The time in force: the row's own time, or the time to which a rule has moved the row.
    * `Arrival.NoTime` if the row is dropped.
    */
  var time: Long = Arrival.NoTime

  /** The watermark of the row's source that the row met, or `Watermark.NotYet`. */
  var watermark: Long = Watermark.NotYet

  /** The rules that the row broke. */
  var broken: PolicyRules = PolicyRules.None

  /** Whether a rule has moved the row. */
  var isAdjusted: Boolean = false

  /** The rule that has dropped the row, or null. */
  var dropped: DeadLetterReason = _

  /** Whether the row is punctuation. Its `time` is the watermark that it sets. */
  var isPunctuation: Boolean = false

  private[policy] def start(met: Long): Unit = {
    time = Arrival.NoTime
    watermark = met
    broken = PolicyRules.None
    isAdjusted = false
    dropped = null
    isPunctuation = false
  }

  private[policy] def drop(reason: DeadLetterReason): Unit = {
    time = Arrival.NoTime
    dropped = reason
  }

  private[policy] def punctuate(at: Long): Unit = {
    time = at
    isPunctuation = true
  }
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

  private[policy] lazy val bit: Int = 1 << PolicyRule.all.indexOf(this)

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
