package transom.engine.runtime

import transom.engine.setting.{Constants, Durations}
import transom.engine.window.{GridWindow, RowContext, Window}

/** A row as the rules see it. The host reuses one instance for the rows of a task. */
abstract class RuledRow {

  /** Whether a column that identifies the substream of the row is null. */
  def lacksSubstream: Boolean

  /** Whether the input partition of the row is null, or not among the declared ones. Such a row
    * would hold the watermark back until this partition has further rows.
    */
  def isOfUnknownPartition: Boolean

  /** Whether the time is null, or the arrival time that a policy needs. */
  def lacksTime: Boolean

  /** The time in microseconds since 1970. */
  def time: Long

  /** The arrival time in microseconds since 1970; 0 if no policy needs it. */
  def arrival: Long

  /** Whether an expression of the key has failed. */
  def hasFailedKey: Boolean

  /** Whether the row is punctuation. It is in no window, so it needs no key and no windows. */
  def isPunctuation: Boolean

  /** Why the gap, the windows or the lifetime of the row are invalid; none if they are valid, or
    * the row has none of them.
    */
  def windowProblem: Option[DeadLetterReason]
}

/** Rules for a row, in the order in which they apply. A row that breaks a rule is a dead letter,
  * and the first rule that it breaks is the reason.
  *
  * A time policy has rules of its own for rows that break none of these, see
  * [[transom.engine.judge.Judgement]].
  */
object RowRules {

  /** Which rule a row breaks; none if it breaks no rule. */
  def problem(row: RuledRow): Option[DeadLetterReason] = problemOfTime(row) match {
    case None => problemOfWindow(row)
    case broken => broken
  }

  /** The first rules: whether the row has a usable time on the clock of its source. */
  def problemOfTime(row: RuledRow): Option[DeadLetterReason] =
    if (row.lacksSubstream) Some(DeadLetterReason.NoSubstream)
    else if (row.isOfUnknownPartition) Some(DeadLetterReason.UnknownPartition)
    else if (row.lacksTime) Some(DeadLetterReason.NoTime)
    else if (!isInRange(row.time) || !isInRange(row.arrival))
      Some(DeadLetterReason.TimeOutOfRange)
    else None

  /** The rules for a row that has a usable time: whether it can be assigned to a window. */
  def problemOfWindow(row: RuledRow): Option[DeadLetterReason] =
    if (row.isPunctuation) None
    else if (row.hasFailedKey) Some(DeadLetterReason.KeyFailed)
    else row.windowProblem

  // The documented range of Spark's timestamps: the years 1 to 9999.
  private final val FirstTime = -62135596800000000L
  private[runtime] final val LastTime = 253402300799999999L

  /** Whether a time, in microseconds since 1970, is in the range of Spark's timestamps. */
  def isInRange(time: Long): Boolean = time >= FirstTime && time <= LastTime

  /** Whether a row may have a session gap of `gap` microseconds. */
  def isGap(gap: Long): Boolean = gap > 0 && gap <= Durations.LongestUs

  /** Whether a row may list the window `[start, end)`: it is not empty and in range. */
  def isWindow(start: Long, end: Long): Boolean =
    start < end && isInRange(start) && isInRange(end - 1)

  /** Whether a row may have the lifetime `[start, end)`. */
  def isLifetime(start: Long, end: Long): Boolean =
    end == RowContext.NoEnd || start < end && isInRange(end - 1)

  /** Whether a lifetime overlaps more windows than a row may be in. A lifetime without end is in
    * as many windows as the watermark passes.
    */
  def overlapsTooMany(window: Window, start: Long, end: Long): Boolean = {
    def isMore(distanceUs: Long) =
      end != RowContext.NoEnd && (end - start) / distanceUs > MostWindows
    window.members.exists {
      case grid: GridWindow => isMore(grid.distanceUs)
      case _ => false
    }
  }

  /** Largest number of windows that a row may be in. */
  final val MostWindows = Constants.MostWindowsPerRow
}
