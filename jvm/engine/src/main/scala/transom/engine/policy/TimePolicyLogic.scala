package transom.engine.policy

import transom.engine.spec._
import transom.engine.time.{Ticks, Watermark}

/** Applies a time policy to the rows of a source, one by one in their order.
  *
  * The rules come in the order of Azure Stream Analytics: early, late, out of order. So a row may
  * be adjusted twice. All bounds are inclusive: a row at a bound breaks no rule. The arrival of a
  * row is the latest arrival of its source so far, because a broker's clock never goes back.
  *
  * A late rule holds the watermark at least at the latest arrival minus its bound, the floor. No
  * accepted row is before the floor, so the floor never makes a row out of order. A row meets the
  * floor of the rows before it. A row of a substream meets the floor of its own arrival, because
  * a row of any substream raises the floor of all.
  *
  * A row that a rule moves to the end of its lifetime or behind it is dropped (S-52).
  *
  * No rule judges punctuation. It arrives like a row, and sets the watermark of its source.
  */
final class TimePolicyLogic(policy: TimePolicy) {
  import TimePolicyLogic._

  // Fields instead of options: the rules run for every row.
  private val (earlyBound, adjustsEarly) = settingsOf(policy.early)
  private val (lateBound, adjustsLate) = settingsOf(policy.late)
  private val hasLate = policy.late.isDefined
  private val tolerance = policy.outOfOrder.beyondUs
  private val adjustsOutOfOrder = policy.outOfOrder.isInstanceOf[Adjust]
  private val dropsOutOfOrder = policy.outOfOrder.isInstanceOf[Drop]
  private val hasSubstreams = policy.overColumns.nonEmpty
  private val hasTime = policy.timeColumn.isDefined
  private val periodic = policy.advance.periodic
  private val countsRows = periodic.exists(_.rows.isDefined)
  private val rows = periodic.flatMap(_.rows).getOrElse(0)
  private val span = periodic.flatMap(_.everyUs).getOrElse(0L)

  /** Decides about a row, and advances the clock of its source.
    *
    * @param time
    *   time of the row, microseconds since 1970; ignored if the policy has no time column
    * @param arrival
    *   arrival time of the row, microseconds since 1970
    * @param end
    *   end of the row's lifetime, microseconds since 1970; `Arrival.NoEnd` if it has none
    * @param stamp
    *   receives the decision
    */
  def judge(source: SourceClock, time: Long, arrival: Long, end: Long, stamp: Stamp): Unit = {
    start(source, arrival, stamp)
    applyRules(if (hasTime) time else source.arrival, source.arrival, end, stamp)
    if (stamp.dropped == null) accept(source, stamp.time)
  }

  /** Advances the clock of a source to a punctuation.
    *
    * @param at
    *   the watermark that the punctuation sets, microseconds since 1970. The tolerance is not
    *   subtracted, and an earlier watermark than that of the source has no effect.
    * @param arrival
    *   arrival time of the punctuation, microseconds since 1970
    * @param stamp
    *   receives the watermark that the punctuation met
    */
  def punctuate(source: SourceClock, at: Long, arrival: Long, stamp: Stamp): Unit = {
    start(source, arrival, stamp)
    stamp.punctuate(at)
    source.watermark = math.max(source.watermark, at)
  }

  /** The watermark of a source. */
  def watermarkOf(source: SourceClock): Long =
    math.max(source.watermark, floorOf(source.arrival))

  /** The bound that the late rule sets for watermarks, or `NotYet` without a late rule. */
  def floorOf(arrival: Long): Long =
    if (hasLate) Watermark.minus(arrival, lateBound) else Watermark.NotYet

  /** Whether the clocks of silent sources may be forgotten at all. */
  def forgetsSources: Boolean = hasLate && hasSubstreams

  /** Whether the rows of a source meet the same watermarks without its clock, if no row arrives
    * before `arrival` any more.
    */
  def canForget(source: SourceClock, arrival: Long): Boolean =
    forgetsSources && source.rows == 0 &&
      math.max(source.latest, source.watermark) <= Watermark.minus(arrival, lateBound)

  /** Notes an arrival, and the watermark that it met. */
  private def start(source: SourceClock, arrival: Long, stamp: Stamp): Unit = {
    val before = watermarkOf(source)
    source.arrival = math.max(source.arrival, arrival)
    stamp.start(if (hasSubstreams) watermarkOf(source) else before)
  }

  private def applyRules(time: Long, arrival: Long, end: Long, stamp: Stamp): Unit = {
    stamp.time = time
    val latest = Ticks.add(arrival, earlyBound)
    if (time > latest) {
      stamp.broken += PolicyRule.Early
      moveOrDrop(stamp, latest, end, adjustsEarly, PolicyRule.Early)
    }
    val earliest = Ticks.subtract(arrival, lateBound)
    if (stamp.dropped == null && stamp.time < earliest) {
      stamp.broken += PolicyRule.LateArrival
      moveOrDrop(stamp, earliest, end, adjustsLate, PolicyRule.LateArrival)
    }
    if (stamp.dropped == null && stamp.time < stamp.watermark) {
      stamp.broken += PolicyRule.OutOfOrder
      if (adjustsOutOfOrder || dropsOutOfOrder)
        moveOrDrop(stamp, stamp.watermark, end, adjustsOutOfOrder, PolicyRule.OutOfOrder)
    }
  }

  private def moveOrDrop(
      stamp: Stamp,
      bound: Long,
      end: Long,
      adjusts: Boolean,
      rule: PolicyRule): Unit =
    if (adjusts && bound < end) {
      stamp.time = bound
      stamp.isAdjusted = true
    } else stamp.drop(rule.reason)

  private def accept(source: SourceClock, time: Long): Unit = {
    source.latest = math.max(source.latest, time)
    if (countsRows) source.rows += 1
    if (countsRows && source.rows >= rows) {
      source.rows = 0
      source.watermark = math.max(source.watermark, source.latest - tolerance)
    } else if (span > 0) {
      val step = source.latest - Math.floorMod(source.latest, span) - tolerance
      source.watermark = math.max(source.watermark, step)
    }
  }
}

private object TimePolicyLogic {

  /** The bound of a rule, and whether the rule adjusts rows. No row is beyond the bound of a rule
    * that the policy lacks.
    */
  def settingsOf(rule: Option[TimeRule]): (Long, Boolean) =
    rule.fold((Long.MaxValue, false))(rule => (rule.beyondUs, rule.isInstanceOf[Adjust]))
}
