package transom.engine.judge

import java.nio.ByteBuffer

import transom.engine.spec._
import transom.engine.state.UnknownStateVersion
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

  /** Judges a row, and advances the watermark of its source.
    *
    * @param time
    *   time of the row, microseconds since 1970; ignored if the policy has no time column
    * @param arrival
    *   arrival time of the row, microseconds since 1970
    * @param end
    *   end of the row's lifetime, microseconds since 1970; `RowContext.NoEnd` if it has none
    * @param to
    *   receives the judgement
    */
  def judge(
      source: SourceWatermark,
      time: Long,
      arrival: Long,
      end: Long,
      to: Judgement): Unit = {
    start(source, arrival, to)
    applyRules(if (hasTime) time else source.arrival, source.arrival, end, to)
    if (to.dropped == null) accept(source, to.time)
  }

  /** Advances the watermark of a source to a punctuation.
    *
    * @param at
    *   the watermark that the punctuation sets, microseconds since 1970. The tolerance is not
    *   subtracted, and an earlier watermark than that of the source has no effect.
    * @param arrival
    *   arrival time of the punctuation, microseconds since 1970
    * @param to
    *   receives the watermark that the punctuation met
    */
  def punctuate(source: SourceWatermark, at: Long, arrival: Long, to: Judgement): Unit = {
    start(source, arrival, to)
    to.punctuate(at)
    source.watermark = math.max(source.watermark, at)
  }

  /** The watermark of a source. */
  def watermarkOf(source: SourceWatermark): Long =
    math.max(source.watermark, floorOf(source.arrival))

  /** The bound that the late rule sets for watermarks, or `NotYet` without a late rule. */
  def floorOf(arrival: Long): Long =
    if (hasLate) Watermark.minus(arrival, lateBound) else Watermark.NotYet

  /** Whether silent sources may be forgotten at all. */
  def forgetsSources: Boolean = hasLate && hasSubstreams

  /** Whether the rows of a source meet the same watermarks without its state, if no row arrives
    * before `arrival` any more.
    */
  def canForget(source: SourceWatermark, arrival: Long): Boolean =
    forgetsSources && source.rows == 0 &&
      math.max(source.latest, source.watermark) <= Watermark.minus(arrival, lateBound)

  /** Notes an arrival, and the watermark that it met. */
  private def start(source: SourceWatermark, arrival: Long, to: Judgement): Unit = {
    val before = watermarkOf(source)
    source.arrival = math.max(source.arrival, arrival)
    to.start(if (hasSubstreams) watermarkOf(source) else before)
  }

  private def applyRules(time: Long, arrival: Long, end: Long, to: Judgement): Unit = {
    to.time = time
    val latest = Ticks.add(arrival, earlyBound)
    if (time > latest) {
      to.broken += PolicyRule.Early
      moveOrDrop(to, latest, end, adjustsEarly, PolicyRule.Early)
    }
    val earliest = Ticks.subtract(arrival, lateBound)
    if (to.dropped == null && to.time < earliest) {
      to.broken += PolicyRule.LateArrival
      moveOrDrop(to, earliest, end, adjustsLate, PolicyRule.LateArrival)
    }
    if (to.dropped == null && to.time < to.watermark) {
      to.broken += PolicyRule.OutOfOrder
      if (adjustsOutOfOrder || dropsOutOfOrder)
        moveOrDrop(to, to.watermark, end, adjustsOutOfOrder, PolicyRule.OutOfOrder)
    }
  }

  private def moveOrDrop(
      to: Judgement,
      bound: Long,
      end: Long,
      adjusts: Boolean,
      rule: PolicyRule): Unit =
    if (adjusts && bound < end) {
      to.time = bound
      to.isAdjusted = true
    } else to.drop(rule.reason)

  private def accept(source: SourceWatermark, time: Long): Unit = {
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

/** The state of one source: of an input partition, of a substream, or of the whole input.
  *
  * Times are microseconds since 1970. A value that is not known yet is `Watermark.NotYet`. Only
  * [[TimePolicyLogic]] changes the fields, once for each row of the source.
  */
final class SourceWatermark {

  /** The latest time in force of all rows. */
  var latest: Long = Watermark.NotYet

  /** The watermark by the times of rows. */
  var watermark: Long = Watermark.NotYet

  /** The latest arrival. */
  var arrival: Long = Watermark.NotYet

  /** Number of accepted rows since they last advanced the watermark by their number. */
  var rows: Int = 0

  def bytes: Array[Byte] =
    ByteBuffer
      .allocate(SourceWatermark.Size)
      .put(SourceWatermark.Version)
      .putLong(latest)
      .putLong(watermark)
      .putLong(arrival)
      .putInt(rows)
      .array
}

/** Decodes the states of sources. */
object SourceWatermark {
  private val Version: Byte = 1
  private final val Size = 29

  def of(bytes: Array[Byte]): SourceWatermark = {
    val in = ByteBuffer.wrap(bytes)
    val version = in.get()
    if (version != Version)
      throw new UnknownStateVersion("a partition or substream", version, Version)
    val source = new SourceWatermark
    source.latest = in.getLong()
    source.watermark = in.getLong()
    source.arrival = in.getLong()
    source.rows = in.getInt()
    source
  }
}
