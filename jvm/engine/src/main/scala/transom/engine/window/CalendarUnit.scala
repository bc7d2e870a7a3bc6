package transom.engine.window

/** A calendar unit.
  *
  * @param shortestDays
  *   length of the unit's shortest instance in wall-clock time, in days
  */
sealed abstract class CalendarUnit(shortestDays: Int) {
  val shortestUs: Long = shortestDays * 86400000000L
}

/** The values of [[CalendarUnit]]. */
object CalendarUnit {
  case object Day extends CalendarUnit(1)
  case object Week extends CalendarUnit(7)
  case object Month extends CalendarUnit(28)
  case object Quarter extends CalendarUnit(90)
  case object Year extends CalendarUnit(365)
}
