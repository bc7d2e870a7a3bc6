package transom.engine.time

/** The kind of time by which windows end and timers are due. */
sealed trait Timeline

object Timeline {

  /** The end of windows without end: half of the largest instant, in the year 148,108. */
  final val EndOfTime = Long.MaxValue / 2

  /** Event time, measured by the watermark. */
  case object Event extends Timeline

  /** Processing time, measured by the wall clock. */
  case object Clock extends Timeline

  /** No time: the windows end only when the input ends. */
  case object Endless extends Timeline
}
