package transom.engine.window

/** What happens to a row behind the watermark that touches no open session. */
sealed trait LateStart

/** The values of [[LateStart]]. */
object LateStart {

  /** The row opens a session, unless this session would already be closed (Flink). */
  case object Open extends LateStart

  /** The row is late (Atlas). A row exactly at the watermark opens a session. */
  case object Reject extends LateStart
}
