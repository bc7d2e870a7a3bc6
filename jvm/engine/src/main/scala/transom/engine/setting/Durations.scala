package transom.engine.setting

import java.util.Locale

/** The longest duration that a user may set: a size, a gap, a lateness or a delay.
  *
  * Row times lie in the years 1 to 9999. Even a window of this size, with a lateness and a delay
  * of this length, ends long before `Timeline.EndOfTime`. All open windows fire at that instant.
  */
object Durations {

  /** The limit as text for error messages. */
  val Longest: String = String.format(Locale.ROOT, "%,d days", Constants.LongestDurationDays)

  /** The limit in microseconds. */
  final val LongestUs = Constants.LongestDurationDays * 86400L * 1000000L

  private val units = Seq(
    "day" -> 86400000000L,
    "hour" -> 3600000000L,
    "minute" -> 60000000L,
    "second" -> 1000000L,
    "millisecond" -> 1000L,
    "microsecond" -> 1L)

  /** A duration in microseconds as text for people, such as "1 hour 30 minutes". */
  def text(micros: Long): String = {
    val (parts, _) = units.foldLeft((Vector.empty[String], micros)) {
      case ((done, left), (unit, size)) =>
        val n = left / size
        val part = if (n == 0) None else Some(s"$n $unit${if (n.abs == 1) "" else "s"}")
        (done ++ part, left % size)
    }
    if (parts.isEmpty) "0 seconds" else parts.mkString(" ")
  }
}
