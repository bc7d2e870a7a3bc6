package transom.engine.window

import java.time.{DayOfWeek, LocalDate}
import java.time.temporal.ChronoUnit

import transom.engine.setting.{Check, Constants}
import transom.engine.time.{Ticks, Zone}

/** Windows of `every` calendar units.
  *
  * @param unit
  *   the calendar unit
  * @param timeZone
  *   the time zone of the calendar
  * @param firstDay
  *   first day of a week; used only by weeks
  */
final case class Calendar(
    unit: CalendarUnit,
    timeZone: String,
    every: Int = 1,
    firstDay: DayOfWeek = DayOfWeek.MONDAY,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left)
    extends GridWindow {

  Check.positive("every", every)
  Check.that(
    "every",
    every <= Constants.MostCalendarUnits,
    s"is above ${Constants.MostCalendarUnits}",
    "BAD_CHOICE",
    "value" -> every.toString,
    "choices" -> s"a whole number of at most ${Constants.MostCalendarUnits}")
  Check.that(
    "first_day",
    unit == CalendarUnit.Week || firstDay == DayOfWeek.MONDAY,
    "is set, but only weeks have a first day",
    "CONFLICT",
    "step" -> "Calendar(first_day=)",
    "other" -> s"unit='$unit'",
    "why" -> "only weeks have a first day")
  Check.offset(offsetUs, every * unit.shortestUs, repeats = false)
  Check.zone(timeZone)

  // In wall-clock time, all days have one length, and so do all weeks. Only months need a
  // calendar.
  override def grid: Grid = {
    val zone = Zone.of(timeZone)
    unit match {
      case CalendarUnit.Day => new TumblingGrid(every * Ticks.PerDay, offsetUs, zone)
      case CalendarUnit.Week =>
        // 1970-01-01 was a Thursday.
        val weekStart = -Math.floorMod(4 - firstDay.getValue, 7) * Ticks.PerDay
        new TumblingGrid(every * 7 * Ticks.PerDay, weekStart + offsetUs, zone)
      case CalendarUnit.Month => new MonthGrid(every, offsetUs, zone)
      case CalendarUnit.Quarter => new MonthGrid(3L * every, offsetUs, zone)
      case CalendarUnit.Year => new MonthGrid(12L * every, offsetUs, zone)
    }
  }

  override def distanceUs: Long = every * unit.shortestUs

  override protected def sliceName: String = "window"

  override protected def in(timeZone: String): GridWindow = copy(timeZone = timeZone)
}

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

/** Windows of `months` calendar months, counted from January 1970. Each window is one slice.
  *
  * @param months
  *   number of months in a window
  * @param offset
  *   shift of the window starts, in microseconds
  * @param zone
  *   the zone of grid time
  */
final class MonthGrid(months: Long, offset: Long, zone: Zone) extends ZonedGrid(zone) {

  // A cache of one immutable value: a race between threads only costs a recomputation.
  @transient private var lastPeriod: TimeWindow = _

  def unit: Long = Ticks.PerDay

  def boundaryAt(gridTime: Long): Long = periodOf(gridTime).start

  def sliceEnd(slice: Long): Long = periodOf(slice).end

  def firstWindow(slice: Long, after: Long): TimeWindow = {
    val window = periodOf(slice)
    if (window.end > zone.reached(after)) window else null
  }

  def firstAfter(instant: Long): TimeWindow =
    firstWindow(periodOf(zone.reached(instant)).start, instant)

  def nextWindow(window: TimeWindow): TimeWindow =
    if (window.end == Long.MaxValue) null else periodOf(window.end)

  def lastEndOf(slice: Long): Long = zone.passed(periodOf(slice).end)

  private def periodOf(time: Long): TimeWindow = {
    val cached = lastPeriod
    if (cached != null && cached.contains(time)) cached
    else {
      val found = findPeriod(time)
      lastPeriod = found
      found
    }
  }

  private def findPeriod(time: Long): TimeWindow = {
    val day = LocalDate.ofEpochDay(Math.floorDiv(Ticks.subtract(time, offset), Ticks.PerDay))
    val month = ChronoUnit.MONTHS.between(MonthGrid.First, day.withDayOfMonth(1))
    val start = Math.floorDiv(month, months) * months
    TimeWindow(startOf(start), startOf(start + months))
  }

  def lastStartOf(slice: Long): Long = periodOf(slice).start

  // A window must not start at `Grid.NoSlice`, so a start before the first instant becomes
  // `Long.MinValue + 1`.
  private def startOf(month: Long): Long = {
    val reachable = Math.max(-MonthGrid.Months, Math.min(month, MonthGrid.Months))
    val day = MonthGrid.First.plusMonths(reachable).toEpochDay
    if (day > Long.MaxValue / Ticks.PerDay) Long.MaxValue
    else if (day < Long.MinValue / Ticks.PerDay) Long.MinValue + 1
    else Math.max(Long.MinValue + 1, Ticks.add(day * Ticks.PerDay, offset))
  }
}

/** Constants of [[MonthGrid]]. */
private object MonthGrid {

  val First: LocalDate = LocalDate.EPOCH

  /** More months than a `Long` of microseconds covers, and fewer than a `LocalDate` covers. */
  final val Months = 4000000L
}
