package transom.engine.window

import java.time.DayOfWeek

import transom.engine.firing.{AfterCount, Evictor, KeepLast, Purging, Trigger}
import transom.engine.setting.{Check, Constants}

/** How rows are assigned to windows. Durations are microseconds. */
sealed trait Window extends Product {

  /** Whether intersecting windows of a key are merged. */
  def isMerging: Boolean = false

  /** What happens to a row behind the watermark that touches no open window. */
  def lateStart: LateStart = LateStart.Open

  /** How far windows are shifted beyond their offset, per key group. */
  def stagger: Stagger = Stagger.Aligned

  /** The trigger that belongs to the definition of the windows. It replaces the user's trigger.
    */
  def runningTrigger: Option[Trigger] = None

  /** The evictor that belongs to the definition of the windows. */
  def ownEvictor: Option[Evictor] = None

  /** The same windows in UTC. Times that have no time zone are windowed so: such a time is
    * wall-clock time itself.
    */
  def inUtc: Window = this

  /** The windows that are computed in one pass. */
  def members: Seq[Window] = Seq(this)

  /** Those of them that lie on a grid. */
  final def grids: Seq[GridWindow] = members.flatMap {
    case grid: GridWindow => Some(grid)
    case _ => None
  }
}

/** Windows on a fixed grid, the same for every key. */
sealed trait GridWindow extends Window {

  /** Shift of the grid, in microseconds. */
  def offsetUs: Long

  /** Which bound of a window is inclusive. */
  def closed: Closed

  /** The time zone whose wall-clock time defines the grid. */
  def timeZone: String

  final override def inUtc: Window = this match {
    case tumbling: Tumbling => tumbling.copy(timeZone = "UTC")
    case hopping: Hopping => hopping.copy(timeZone = "UTC")
    case cumulate: Cumulate => cumulate.copy(timeZone = "UTC")
    case calendar: Calendar => calendar.copy(timeZone = "UTC")
  }
}

/** Windows of one size without overlap or gaps.
  *
  * @param stagger
  *   how far windows are shifted per key group
  */
final case class Tumbling(
    sizeUs: Long,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left,
    timeZone: String = "UTC",
    override val stagger: Stagger = Stagger.Aligned)
    extends GridWindow {

  Check.positive("size_us", sizeUs)
  Check.offset(offsetUs, sizeUs)
  Check.zone(timeZone)
}

/** Windows of `sizeUs` that start every `slideUs`. They overlap, or leave gaps if the slide
  * exceeds the size.
  *
  * @param sizeUs
  *   length of a window
  * @param slideUs
  *   distance between window starts
  */
final case class Hopping(
    sizeUs: Long,
    slideUs: Long,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left,
    timeZone: String = "UTC")
    extends GridWindow {

  Check.positive("size_us", sizeUs)
  Check.positive("slide_us", slideUs)
  Check.offset(offsetUs, slideUs)
  Check.zone(timeZone)
  Check.windowsPerRow("slide_us", sizeUs, slideUs)
}

/** Windows that share a start and grow by `stepUs` up to `sizeUs`. Then a new cycle starts.
  *
  * @param sizeUs
  *   length of the longest window
  * @param stepUs
  *   growth from one window to the next
  */
final case class Cumulate(
    sizeUs: Long,
    stepUs: Long,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left,
    timeZone: String = "UTC")
    extends GridWindow {

  Check.positive("size_us", sizeUs)
  Check.positive("step_us", stepUs)
  Check.that("size_us", sizeUs % stepUs == 0, s"is not a multiple of step_us, $stepUs")
  Check.windowsPerRow("step_us", sizeUs, stepUs)
  Check.offset(offsetUs, sizeUs)
  Check.zone(timeZone)
}

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
    s"is above ${Constants.MostCalendarUnits}")
  Check.offset(offsetUs, every * unit.shortestUs)
  Check.zone(timeZone)
}

/** Windows that stay open while rows of a key keep arriving. */
sealed trait SessionWindow extends Window {

  /** Whether rows exactly one gap apart share a session. */
  def inclusive: Boolean

  /** Which bound of a session is inclusive. */
  def closed: Closed

  /** The maximum duration of a session, if there is one. */
  def maxDurationUs: Option[Long]

  /** Which sessions a check closes. Without a maximum duration it has no effect. */
  def maxCheck: MaxCheck

  maxDurationUs.foreach(Check.positive("max_duration_us", _))

  override def isMerging: Boolean = true
}

/** Session windows: a session ends when a key has no rows for `gapUs`.
  *
  * @param gapUs
  *   inactivity that ends a session
  * @param inclusive
  *   whether rows exactly `gapUs` apart share a session
  * @param lateStart
  *   what happens to a row behind the watermark that touches no open session
  * @param maxDurationUs
  *   the maximum duration of a session, if there is one
  * @param maxCheck
  *   which sessions a check of the maximum duration closes
  */
final case class Session(
    gapUs: Long,
    inclusive: Boolean = true,
    closed: Closed = Closed.Left,
    override val lateStart: LateStart = LateStart.Open,
    maxDurationUs: Option[Long] = None,
    maxCheck: MaxCheck = MaxCheck.AtLeast)
    extends SessionWindow {

  Check.positive("gap_us", gapUs)
}

/** Session windows whose gap is computed for each row. The other settings are those of
  * [[Session]].
  *
  * @param gapColumn
  *   index of the column with the gap of a row
  */
final case class DynamicSession(
    gapColumn: Int,
    inclusive: Boolean = true,
    closed: Closed = Closed.Left,
    override val lateStart: LateStart = LateStart.Open,
    maxDurationUs: Option[Long] = None,
    maxCheck: MaxCheck = MaxCheck.AtLeast)
    extends SessionWindow

/** One window per key that contains all rows. */
case object Global extends Window

/** Windows of `size` rows, one every `slide` rows.
  *
  * @param size
  *   number of rows in a window
  * @param slide
  *   number of rows between window starts; `size` if absent
  * @param partial
  *   if true, every `slide` rows produce a result of at most `size` rows; if false, only full
  *   windows produce results
  */
final case class Count(size: Int, slide: Option[Int] = None, partial: Boolean = false)
    extends Window {

  Check.positive("size", size)
  slide.foreach(Check.positive("slide", _))
  if (!partial) Check.windowsPerRow("slide", size, step)

  /** Number of rows between window starts. */
  def step: Int = slide.getOrElse(size)

  /** The only valid trigger. */
  def requiredTrigger: AfterCount = AfterCount(if (partial) step else size)

  override def runningTrigger: Option[Trigger] =
    Some(if (isNumbered) Purging(AfterCount(size)) else AfterCount(step))

  // Flink's countWindow(size, slide): every `step` rows, the last `size` rows (flink.md 1.10).
  override def ownEvictor: Option[Evictor] = if (isNumbered) None else Some(KeepLast(size))

  /** Whether windows are numbered. If `step` equals `size`, windows are full when they fire, even
    * with `partial`.
    */
  def isNumbered: Boolean = !partial || step == size
}

/** Windows that a column lists for each row.
  *
  * @param windowsColumn
  *   index of the column with the list of windows
  * @param merging
  *   whether intersecting windows of a key are merged
  */
final case class Custom(windowsColumn: Int, merging: Boolean = false) extends Window {

  override def isMerging: Boolean = merging
}

/** Windows that a sweep over the starts and ends of lifetimes finds. */
sealed trait SweptWindow extends Window {

  /** Whether rows may have lifetimes of their own. */
  def takesLifetimes: Boolean = true
}

/** The windows between neighbouring starts and ends of lifetimes (StreamInsight's snapshot
  * windows, S-30). The rows of a window are the same at each instant of the window.
  */
final case class Snapshot(closed: Closed = Closed.Left) extends SweptWindow

/** The last `sizeUs` microseconds before each instant at which a row enters or leaves them
  * (Azure's sliding windows, Z-34). A window includes its end.
  *
  * @param sizeUs
  *   length of a window
  */
final case class Rolling(sizeUs: Long) extends SweptWindow {

  Check.positive("size_us", sizeUs)

  override def takesLifetimes: Boolean = false
}

/** Windows over `size` distinct start times, one from each distinct start time on
  * (StreamInsight's count windows, S-32). A window holds the rows that start in it, so it may
  * hold more than `size` rows. It ends one microsecond after its last start time.
  *
  * @param size
  *   number of distinct start times in a window
  */
final case class CountByStart(size: Int) extends SweptWindow {

  Check.positive("size", size)
}

/** Several windows in one pass: the union of the results of each (Azure's `Windows`, Z-38). */
final case class Windows(windows: Seq[NamedWindow]) extends Window {

  NamedWindow.check(windows)

  override def inUtc: Window =
    Windows(windows.map(member => member.copy(window = member.window.inUtc)))

  override def members: Seq[Window] = windows.map(_.window)

  override def isMerging: Boolean = members.exists(_.isMerging)
}
