package transom.engine.window

import transom.engine.firing.{AfterClock, AfterWatermark, Evictor, Trigger}
import transom.engine.time.Timeline

/** A kind of windows with its settings: how rows are assigned to windows. Durations are
  * microseconds.
  *
  * Each kind is one file. It answers all that other packages ask about windows.
  */
trait Window extends Product {

  /** The assigner of single rows, for the keyed layout.
    *
    * @param timeline
    *   the kind of time by which windows end; ignored for windows without end
    */
  def assigner(timeline: Timeline): Assigner

  /** The assigner of rows to slices. If the slice log does not support the windows: the first
    * part that it does not support, in the words of the Python API.
    */
  def slices: Either[String, SliceAssigner]

  /** The assigner of rows to slices. Requires that the slice log supports the windows. */
  final def sliceAssigner: SliceAssigner = slices.fold(
    part => throw new IllegalArgumentException(s"a log cannot store $part: use the keyed layout"),
    identity)

  /** How people name the piece of time whose aggregates the slice log stores together; none if
    * this is all time.
    */
  def sliceText: Option[String] = None

  /** How the times of the windows differ from those of the host. */
  def convention: TimeConvention = TimeConvention.Start

  /** Whether windows end only when the input ends. */
  def isEndless: Boolean

  /** Whether the ends of a row's windows are known when the row arrives. */
  def hasKnownEnd: Boolean = false

  /** Whether rows may have lifetimes of their own. */
  def takesLifetimes: Boolean = false

  /** Whether a window has a window before it, to which `changes_only()` compares it. */
  def hasWindowBefore: Boolean = false

  /** Whether other windows may be computed in the same pass. Such windows have an end, and
    * neither a column nor the key group defines them.
    */
  def isCombinable: Boolean = false

  /** Whether windows are sessions. */
  def isSession: Boolean = false

  /** Whether intersecting windows of a key are merged. */
  def isMerging: Boolean = false

  /** The column that places a row in its windows, besides the time of the row. */
  def placementColumn: Option[PlacementColumn] = None

  /** What happens to a row behind the watermark that touches no open window. */
  def lateStart: LateStart = LateStart.Open

  /** How far windows are shifted beyond their offset, per key group. */
  def stagger: Stagger = Stagger.Aligned

  /** The trigger that is used if the user sets none; none if the user must set one.
    *
    * @param isOnClock
    *   whether windows follow processing time
    */
  def defaultTrigger(isOnClock: Boolean): Option[Trigger] =
    Some(if (isOnClock) AfterClock else AfterWatermark())

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
  final def grids: Seq[GridWindow] = members.collect { case grid: GridWindow => grid }
}

/** A column that places rows in windows.
  *
  * @param index
  *   index of the column
  */
sealed abstract class PlacementColumn { def index: Int }

/** The kinds of [[PlacementColumn]]. */
object PlacementColumn {

  /** The session gap of a row. */
  final case class Gap(index: Int) extends PlacementColumn

  /** The list of the windows of a row. */
  final case class Listed(index: Int) extends PlacementColumn
}
