package transom.engine.operator

import transom.engine.spec.{DynamicSession, Session, Window}
import transom.engine.state.ByteRange
import transom.engine.window.TimeWindow

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
      missed: Seq[TimeWindow],
      time: Option[Long],
      watermark: Option[Long],
      clock: Long): T
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

  /** The row touched no open session, and its own session had closed. */
  final val LateSession = "late_session"

  /** Some windows of the row had fired. The row counted in its other windows. */
  final val LatePartly = "late_partly"

  /** The reason of a row that counts in none of its windows. */
  def of(window: Window): String = window match {
    case _: Session | _: DynamicSession => LateSession
    case _ => Late
  }
}

/** Why a row cannot be assigned to a window.
  *
  * @param code
  *   identifies the reason in the exchange
  * @param name
  *   the reason as users see it
  */
sealed abstract class DeadLetterReason(val code: Int, val name: String)

/** The values of [[DeadLetterReason]]. */
object DeadLetterReason {
  case object NoTime extends DeadLetterReason(0, "no_time")
  case object TimeOutOfRange extends DeadLetterReason(1, "time_out_of_range")
  case object BadGap extends DeadLetterReason(2, "bad_gap")
  case object BadWindows extends DeadLetterReason(3, "bad_windows")
  case object TooManyWindows extends DeadLetterReason(4, "too_many_windows")

  private val all = IndexedSeq(NoTime, TimeOutOfRange, BadGap, BadWindows, TooManyWindows)

  def of(code: Int): DeadLetterReason = all(code)
}
