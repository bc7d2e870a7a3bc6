package transom.engine.window

import java.util.Locale

import transom.engine.setting.Check
import transom.engine.time.Timeline

/** Several windows in one pass: the union of the results of each (Azure's `Windows`, Z-38). */
final case class Windows(windows: Seq[NamedWindow]) extends Window {

  NamedWindow.check(windows)

  override def inUtc: Window =
    Windows(windows.map(member => member.copy(window = member.window.inUtc)))

  override def members: Seq[Window] = windows.map(_.window)

  override def isMerging: Boolean = members.exists(_.isMerging)

  override def assigner(timeline: Timeline): Assigner =
    throw new IllegalArgumentException(s"no assigner finds $this")

  // The slice log computes several windows if they are cut from one grid time.
  override def slices: Either[String, SliceAssigner] =
    if (grids.length < members.length) Left("Windows of other kinds than grids")
    else if (grids.distinctBy(grid => (grid.closed, grid.timeZone)).length > 1)
      Left("Windows that differ in closed or time_zone")
    else Right(new GridSlices(grids.map(_.grid).toVector))

  override def sliceText: Option[String] = Some("slice of each of the windows")

  // Members with conventions of their own convert times themselves.
  override def convention: TimeConvention = {
    val conventions = members.map(_.convention).distinct
    if (conventions.length == 1) conventions.head else TimeConvention.Start
  }

  override def isEndless: Boolean = false
}

/** A member of [[Windows]].
  *
  * @param id
  *   the name of the window in results, if it has one
  */
final case class NamedWindow(id: Option[String], window: Window)

/** Checks members. */
object NamedWindow {

  /** Rejects members that cannot be computed together, and ids that are not unique (Z-38). */
  private[window] def check(members: Seq[NamedWindow]): Unit = {
    val ids = members.flatMap(_.id)
    def haveIds(holds: Boolean, problem: String, why: String): Unit =
      Check.that("windows", holds, problem, "BAD_WINDOW_IDS", "why" -> why)
    haveIds(members.nonEmpty, "must hold at least one window", "there is no window")
    haveIds(
      ids.isEmpty || ids.length == members.length,
      "have ids on some only",
      "only some windows have one")
    haveIds(!ids.exists(_.isEmpty), "have an empty id", "an id is empty")
    haveIds(
      ids.distinctBy(_.toLowerCase(Locale.ROOT)).length == ids.length,
      "have ids that are equal but for upper and lower case",
      "two of them differ only in upper and lower case")
    haveIds(
      ids.nonEmpty || members.distinctBy(_.window).length == members.length,
      "repeat a window without an id",
      "a window is in the list twice, and its results would be equal")
    members.foreach(member =>
      Check.that(
        "windows",
        member.window.isCombinable,
        s"cannot hold ${member.window}",
        "BAD_CHOICE",
        "value" -> member.window.productPrefix,
        "choices" -> ("a window on a grid without stagger, a Session with a fixed gap and " +
          "late_start='open', a Snapshot, a Rolling or a CountByStart")))
  }
}
