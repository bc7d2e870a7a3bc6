package transom.engine.window

import java.time.LocalDate
import java.time.temporal.ChronoUnit

import transom.engine.time.{Ticks, Zone}

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
