package transom.engine.operator

import transom.engine.spec.{DynamicSession, Session, Window}
import transom.engine.state.ByteRange
import transom.engine.window.MissedWindows

/** Builds the host's output rows for input rows that count in no window. */
trait SideOutput[T] {

  /** Builds a row that stays valid.
    *
    * @param tag
    *   the side output
    * @param input
    *   bytes of the input row
    * @param reason
    *   why the row is in the side output, as users see it
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
      tag: SideTag,
      input: ByteRange,
      reason: String,
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

/** The side outputs of the engine. */
sealed trait SideTag

/** The values of [[SideTag]]. */
object SideTag {
  case object Late extends SideTag
  case object DeadLetter extends SideTag
}

/** Why a late row is in the side output, as users see it. */
object LateReason {

  /** All windows of the row had fired. */
  final val Late = "late"

  /** The row touched no open session, and its own session had closed or must not open. */
  final val LateSession = "late_session"

  /** Some windows of the row had fired. The row counted in its other windows. */
  final val LatePartly = "late_partly"

  /** The reason of a row that counts in none of its windows. */
  def of(window: Window): String = window match {
    case _: Session | _: DynamicSession => LateSession
    case _ => Late
  }
}

/** Why a row is not assigned to a window.
  *
  * @param code
  *   identifies the reason in the exchange
  * @param name
  *   the reason as users see it
  * @param count
  *   the count of [[RowCounts]] that the row adds to
  */
final class DeadLetterReason private (val code: Int, val name: String, val count: Int) {
  override def toString: String = name
}

/** The values of [[DeadLetterReason]]. */
object DeadLetterReason {
  val NoTime: DeadLetterReason = new DeadLetterReason(0, "no_time", RowCounts.WithoutTime)
  val TimeOutOfRange: DeadLetterReason =
    new DeadLetterReason(1, "time_out_of_range", RowCounts.OutOfRange)
  val BadGap: DeadLetterReason = new DeadLetterReason(2, "bad_gap", RowCounts.WithBadWindows)
  val BadWindows: DeadLetterReason =
    new DeadLetterReason(3, "bad_windows", RowCounts.WithBadWindows)
  val TooManyWindows: DeadLetterReason =
    new DeadLetterReason(4, "too_many_windows", RowCounts.WithBadWindows)

  /** A column of the row's substream is null. */
  val NoSubstream: DeadLetterReason =
    new DeadLetterReason(5, "no_substream", RowCounts.WithoutSubstream)

  /** The input partition of the row is not among the declared ones. */
  val UnknownPartition: DeadLetterReason =
    new DeadLetterReason(6, "unknown_partition", RowCounts.OfUnknownPartition)

  /** The early rule has dropped the row. */
  val Early: DeadLetterReason = new DeadLetterReason(7, "early", RowCounts.Dropped)

  /** The late rule has dropped the row. */
  val LateArrival: DeadLetterReason = new DeadLetterReason(8, "late_arrival", RowCounts.Dropped)

  /** The out-of-order rule has dropped the row. */
  val OutOfOrder: DeadLetterReason = new DeadLetterReason(9, "out_of_order", RowCounts.Dropped)

  /** An expression of the row's key failed. */
  val KeyFailed: DeadLetterReason =
    new DeadLetterReason(10, "key_failed", RowCounts.WithFailedKeys)

  /** The lifetime of the row does not end after its start, or its end is unknown. */
  val BadLifetime: DeadLetterReason =
    new DeadLetterReason(11, "bad_lifetime", RowCounts.WithBadWindows)

  private val all = IndexedSeq(
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

  def of(code: Int): DeadLetterReason = all(code)

  /** The counts of [[RowCounts]] that dead letters add to. */
  val counts: IndexedSeq[Int] = all.map(_.count).distinct
}
