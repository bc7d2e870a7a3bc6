package transom.engine.spec

import java.util.Locale

/** The longest duration that a user may set: a size, a gap, a lateness or a delay.
  *
  * Row times lie in the years 1 to 9999. Even a window of this size, with a lateness and a delay
  * of this length, ends long before `GlobalGrid.EndOfTime`. All open windows fire at that
  * instant.
  */
object Durations {

  /** The limit as text for error messages. */
  val Longest: String = String.format(Locale.ROOT, "%,d days", Constants.LongestDurationDays)

  /** The limit in microseconds. */
  final val LongestUs = Constants.LongestDurationDays * 86400L * 1000000L
}
