package transom.engine

import transom.engine.spec.{Calendar, CalendarUnit, Cumulate, GridWindow, Hopping, Tumbling}

/** A fixed grid of windows, cut into slices so that every window is a row of whole slices.
  *
  * Slices and windows are in grid time: instants in UTC, wall-clock time in any other zone. A
  * slice is named by its start. Watermarks, row times and due times are instants.
  */
trait Grid extends Serializable {

  /** The slice that holds `instant`, or `Grid.NoSlice` if it lies in the gap between windows. */
  def sliceOf(instant: Long): Long

  def sliceEnd(slice: Long): Long

  /** The first window to fall due, later than `after`, of those that hold `slice`; null if all of
    * them are due by then.
    */
  def firstWindow(slice: Long, after: Long): TimeWindow

  /** The window that falls due next after `window`; null at the end of time. */
  def nextWindow(window: TimeWindow): TimeWindow

  /** When the last window that holds `slice` falls due: from then on its rows are late. */
  def lastEndOf(slice: Long): Long

  /** The first instant at `gridTime`: where a window that starts then begins. */
  def instantOf(gridTime: Long): Long

  /** The watermark from which on `window` gets no more rows, which is also where it ends.
    *
    * This is `instantOf(window.end)`, except when clocks that go back show the end of the window
    * twice: its rows then come until the second time. Clocks that go back to the end itself never
    * show a time before it again, so the first time counts.
    */
  def endOf(window: TimeWindow): Long

  /** Whether a slice may be in several windows, none of which contains all others of the same
    * start.
    */
  def isOverlapping: Boolean = false

  /** Whether windows that share a start follow each other, each holding the one before. */
  def isCumulative: Boolean = false

  final def holds(window: TimeWindow, slice: Long): Boolean =
    window.start <= slice && sliceEnd(slice) <= window.end

  /** Every window that a row at `instant` belongs to, in order of falling due. */
  final def windowsOf(instant: Long): Seq[TimeWindow] = {
    val slice = sliceOf(instant)
    if (slice == Grid.NoSlice) Nil
    else {
      Iterator
        .iterate(firstWindow(slice, Long.MinValue))(nextWindow)
        .takeWhile(window => window != null && holds(window, slice))
        .toVector
    }
  }
}

object Grid {

  /** Answer of `sliceOf` for an instant outside all windows. */
  final val NoSlice = Long.MinValue

  def of(window: GridWindow): Grid = {
    val zone = Zone.of(window.timeZone)
    window match {
      case Tumbling(size, offset, _, _, _) => new TumblingGrid(size, offset, zone)
      case Hopping(size, slide, offset, _, _) => new HoppingGrid(size, slide, offset, zone)
      case Cumulate(size, step, offset, _, _) => new CumulateGrid(size, step, offset, zone)
      case calendar: Calendar => ofCalendar(calendar, zone)
    }
  }

  // On the wall clock days and weeks all have one length; only months need a calendar.
  private def ofCalendar(calendar: Calendar, zone: Zone): Grid = {
    import calendar.{every, offsetUs}
    calendar.unit match {
      case CalendarUnit.Day => new TumblingGrid(every * Ticks.PerDay, offsetUs, zone)
      case CalendarUnit.Week =>
        // 1970-01-01 was a Thursday.
        val weekStart = -Math.floorMod(4 - calendar.firstDay.getValue, 7) * Ticks.PerDay
        new TumblingGrid(every * 7 * Ticks.PerDay, weekStart + offsetUs, zone)
      case CalendarUnit.Month => new MonthGrid(every, offsetUs, zone)
      case CalendarUnit.Quarter => new MonthGrid(3L * every, offsetUs, zone)
      case CalendarUnit.Year => new MonthGrid(12L * every, offsetUs, zone)
    }
  }
}

/** What all grids share: how grid time and instants belong together. */
private[engine] abstract class ZonedGrid(zone: Zone) extends Grid {

  final def instantOf(gridTime: Long): Long = zone.first(gridTime)

  final def endOf(window: TimeWindow): Long = zone.passed(window.end)
}
