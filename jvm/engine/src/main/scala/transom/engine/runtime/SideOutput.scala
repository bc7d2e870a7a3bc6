package transom.engine.runtime

import transom.engine.spec.WindowSpec
import transom.engine.state.ByteRange
import transom.engine.time.Watermark
import transom.engine.window.{MissedWindows, Window}

/** Builds the host's output rows for input rows that count in no window. */
trait SideOutput[T] {

  /** Builds a row that stays valid.
    *
    * @param input
    *   bytes of the input row
    * @param reason
    *   why the row is in the side output; the kind of reason is the side output
    * @param missed
    *   the windows that had fired, with bounds in microseconds since 1970
    * @param time
    *   time of the row, microseconds since 1970
    * @param watermark
    *   the watermark that the row met, microseconds since 1970; none if there was none yet
    * @param clock
    *   wall-clock time of the batch, microseconds since 1970
    */
  def row(
      input: ByteRange,
      reason: SideReason,
      missed: MissedWindows,
      time: Option[Long],
      watermark: Option[Long],
      clock: Long): T

  /** Builds a row with the watermark of the results.
    *
    * @param watermark
    *   microseconds since 1970
    * @param clock
    *   wall-clock time of the batch, microseconds since 1970
    */
  def watermark(watermark: Long, clock: Long): T
}

/** Builds the rows of side outputs of one key group in one batch, in the host's convention. */
final class SideRows[T](spec: WindowSpec, output: SideOutput[T], clock: Long) {
  private val convention = spec.window.convention

  /** Whether the key group is the first one, which also receives the counts of all tasks. */
  var isFirst: Boolean = false

  def late(
      input: ByteRange,
      reason: LateReason,
      missed: MissedWindows,
      time: Long,
      watermark: Long): T =
    output.row(
      input,
      reason,
      missed,
      Some(convention.timeOut(time)),
      convention.reached(watermark),
      clock)

  def deadLetter(letter: GroupInput.DeadLetter): T =
    output.row(
      letter.input,
      letter.reason,
      MissedWindows.None,
      letter.time,
      convention.reached(letter.lateWatermark),
      clock)

  /** The watermark of the results, after all results of the batch. The first key group sends it.
    *
    * @param watermark
    *   the watermark of the batch; `Watermark.NotYet` if the batch has none
    */
  def reached(watermark: Long): Iterator[T] =
    if (!spec.watermarks || !isFirst || watermark == Watermark.NotYet) Iterator.empty
    else Iterator.single(output.watermark(new OutputWatermark(spec).of(watermark), clock))
}

/** Why a row is in a side output: a reason of late rows or of dead letters.
  *
  * @param name
  *   the reason as users see it
  */
sealed abstract class SideReason(val name: String) {
  override def toString: String = name
}

/** Why a late row is in the side output. */
sealed abstract class LateReason(name: String) extends SideReason(name)

/** The values of [[LateReason]]. */
object LateReason {

  /** All windows of the row had fired. */
  case object Late extends LateReason("late")

  /** The row touched no open session, and its own session had closed or must not open. */
  case object LateSession extends LateReason("late_session")

  /** Some windows of the row had fired. The row counted in its other windows. */
  case object LatePartly extends LateReason("late_partly")

  /** The reason of a row that counts in none of its windows. */
  def of(window: Window): LateReason = if (window.isSession) LateSession else Late
}

/** Why a row is not assigned to a window.
  *
  * @param count
  *   the count that the row adds to
  */
sealed abstract class DeadLetterReason(name: String, val count: RowCount) extends SideReason(name)

/** The values of [[DeadLetterReason]]. */
object DeadLetterReason {
  case object NoTime extends DeadLetterReason("no_time", RowCounts.WithoutTime)
  case object TimeOutOfRange extends DeadLetterReason("time_out_of_range", RowCounts.OutOfRange)
  case object BadGap extends DeadLetterReason("bad_gap", RowCounts.WithBadWindows)
  case object BadWindows extends DeadLetterReason("bad_windows", RowCounts.WithBadWindows)
  case object TooManyWindows
      extends DeadLetterReason("too_many_windows", RowCounts.WithBadWindows)

  /** A column of the row's substream is null. */
  case object NoSubstream extends DeadLetterReason("no_substream", RowCounts.WithoutSubstream)

  /** The input partition of the row is not among the declared ones. */
  case object UnknownPartition
      extends DeadLetterReason("unknown_partition", RowCounts.OfUnknownPartition)

  /** The early rule has dropped the row. */
  case object Early extends DeadLetterReason("early", RowCounts.Dropped)

  /** The late rule has dropped the row. */
  case object LateArrival extends DeadLetterReason("late_arrival", RowCounts.Dropped)

  /** The out-of-order rule has dropped the row. */
  case object OutOfOrder extends DeadLetterReason("out_of_order", RowCounts.Dropped)

  /** An expression of the row's key failed. */
  case object KeyFailed extends DeadLetterReason("key_failed", RowCounts.WithFailedKeys)

  /** The lifetime of the row does not end after its start, or its end is unknown. */
  case object BadLifetime extends DeadLetterReason("bad_lifetime", RowCounts.WithBadWindows)

  /** All reasons. Within a batch, the position of a reason stands for the reason. */
  val all: IndexedSeq[DeadLetterReason] = IndexedSeq(
    NoTime,
    TimeOutOfRange,
    BadGap,
    BadWindows,
    TooManyWindows,
    NoSubstream,
    UnknownPartition,
    Early,
    LateArrival,
    OutOfOrder,
    KeyFailed,
    BadLifetime)
}
