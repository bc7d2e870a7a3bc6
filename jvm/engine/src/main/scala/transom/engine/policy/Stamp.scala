package transom.engine.policy

import transom.engine.operator.DeadLetterReason
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

  /** The rules that the row broke: a set of the bits in the companion. */
  var rules: Int = 0

  /** Whether a rule has moved the row. */
  var isAdjusted: Boolean = false

  /** The rule that has dropped the row, or null. */
  var dropped: DeadLetterReason = _

  /** Whether the row is punctuation. Its `time` is the watermark that it sets. */
  var isPunctuation: Boolean = false

  private[policy] def start(met: Long): Unit = {
    time = Arrival.NoTime
    watermark = met
    rules = 0
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

/** The rules, as bits in the order in which they are applied. */
object Stamp {
  final val Early = 1
  final val LateArrival = 2
  final val OutOfOrder = 4

  /** The names of the rules as users see them, by the number of their bit. */
  val ruleNames: IndexedSeq[String] =
    IndexedSeq(DeadLetterReason.Early, DeadLetterReason.LateArrival, DeadLetterReason.OutOfOrder)
      .map(_.name)
}
