package transom.engine.spec

/** How long a duration may be that a user writes: a size, a gap, a lateness, a delay.
  *
  * Rows lie in the years 1 to 9999. So even a window of this size, with a lateness and a delay of
  * this length, ends long before `GlobalGrid.EndOfTime`, at which everything fires that is open.
  */
object Durations {

  /** As the user reads it. */
  final val Longest = "10,000,000 days"

  /** In microseconds. */
  final val LongestUs = 10000000L * 86400L * 1000000L
}
