package transom.engine.window

import java.time.{DayOfWeek, Instant, LocalDate, LocalDateTime, ZoneId, ZoneOffset}
import java.time.temporal.{ChronoUnit, TemporalAdjusters}

/** A model of windows on a grid: lists the windows of a time, with `java.time` only. */
object GridModel {

  def local(instant: Long, zone: String): Long =
    micros(LocalDateTime.ofInstant(toInstant(instant), ZoneId.of(zone)))

  def micros(local: LocalDateTime): Long =
    ChronoUnit.MICROS.between(LocalDateTime.ofEpochSecond(0, 0, ZoneOffset.UTC), local)

  def toInstant(micros: Long): Instant = Instant.EPOCH.plus(micros, ChronoUnit.MICROS)

  def toMicros(instant: Instant): Long =
    Math.addExact(Math.multiplyExact(instant.getEpochSecond, 1000000L), instant.getNano / 1000L)

  def windows(spec: GridWindow, instant: Long): Seq[TimeWindow] =
    containing(spec, local(instant, spec.timeZone))

  private def containing(spec: GridWindow, time: Long): Seq[TimeWindow] =
    spec match {
      case Tumbling(size, offset, _, _, _) => multiples(time, size, size, offset)
      case Hopping(size, slide, offset, _, _) => multiples(time, size, slide, offset)
      case Cumulate(size, step, offset, _, zone) =>
        val cycle = multiples(time, size, size, offset).head
        (1L to size / step)
          .map(k => TimeWindow(cycle.start, cycle.start + k * step))
          .filter(_.contains(time))
          .filterNot(window => isSkipped(window.end - step, window.end, zone))
      case calendar: Calendar => Seq(calendarWindow(calendar, time))
      case other => throw new IllegalArgumentException(s"no model of $other")
    }

  /** The first window that ends after `instant`. Clocks that go back soon show times again, so
    * rows of earlier windows may still come.
    */
  def firstAfter(spec: GridWindow, instant: Long, endOf: TimeWindow => Long): TimeWindow = {
    val time = local(instant, spec.timeZone)
    val transition = ZoneId.of(spec.timeZone).getRules.nextTransition(toInstant(instant))
    val again = Option(transition).map(next => micros(next.getDateTimeAfter)).filter(_ <= time)
    (time +: again.toSeq)
      .flatMap(near(spec, _))
      .filter(endOf(_) > instant)
      .minBy(window => (window.end, window.start))
  }

  /** The windows that contain a local time. In a gap, the windows around the gap. */
  private def near(spec: GridWindow, time: Long): Seq[TimeWindow] = spec match {
    case Hopping(size, slide, offset, _, _) if slide > size =>
      val middle = (time - offset) / slide
      (middle - 2 to middle + 2).map { k =>
        TimeWindow(k * slide + offset, k * slide + offset + size)
      }
    case _ => containing(spec, time)
  }

  private def multiples(time: Long, size: Long, slide: Long, offset: Long): Seq[TimeWindow] = {
    val middle = (time - offset) / slide
    (middle - size / slide - 2 to middle + 2)
      .map(k => TimeWindow(k * slide + offset, k * slide + offset + size))
      .filter(_.contains(time))
  }

  /** Whether clocks in the zone skip all times of `[start, end)`. */
  private def isSkipped(start: Long, end: Long, zone: String): Boolean = {
    val transition = ZoneId.of(zone).getRules.getTransition(dateTime(start))
    transition != null && transition.isGap && end <= micros(transition.getDateTimeAfter)
  }

  private def dateTime(local: Long): LocalDateTime =
    LocalDateTime.ofInstant(toInstant(local), ZoneOffset.UTC)

  private def calendarWindow(spec: Calendar, time: Long): TimeWindow = {
    val firstDay = LocalDate.EPOCH.`with`(TemporalAdjusters.previousOrSame(spec.firstDay))
    def start(k: Long): Long = {
      val day = spec.unit match {
        case CalendarUnit.Day => LocalDate.EPOCH.plusDays(k * spec.every)
        case CalendarUnit.Week => firstDay.plusWeeks(k * spec.every)
        case CalendarUnit.Month => LocalDate.EPOCH.plusMonths(k * spec.every)
        case CalendarUnit.Quarter => LocalDate.EPOCH.plusMonths(k * spec.every * 3)
        case CalendarUnit.Year => LocalDate.EPOCH.plusYears(k * spec.every)
      }
      micros(day.atStartOfDay) + spec.offsetUs
    }
    val near = dateTime(time).getYear - 1970
    val perYear = spec.unit match {
      case CalendarUnit.Day => 366
      case CalendarUnit.Week => 53
      case CalendarUnit.Month => 12
      case CalendarUnit.Quarter => 4
      case CalendarUnit.Year => 1
    }
    // The starts cover two years before the time and two years after it, for every unit.
    val starts = ((near - 2).toLong * perYear / spec.every - 130 to
      (near + 2).toLong * perYear / spec.every + 130).map(start)
    val last = starts.filter(_ <= time).max
    TimeWindow(last, starts.filter(_ > last).min)
  }

  val weekDays: Seq[DayOfWeek] = DayOfWeek.values.toSeq
}
