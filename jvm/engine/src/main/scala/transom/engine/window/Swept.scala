package transom.engine.window

import transom.engine.setting.Check
import transom.engine.time.Timeline

/** Windows that a sweep over the starts and ends of lifetimes finds. */
sealed trait SweptWindow extends Window {

  override final def assigner(timeline: Timeline): Assigner =
    throw new IllegalArgumentException(s"no assigner finds $this")

  override final def slices: Either[String, SliceAssigner] = Left(s"$productPrefix windows")

  override final def isEndless: Boolean = false

  override final def hasWindowBefore: Boolean = true

  override final def isCombinable: Boolean = true
}

/** The windows between neighbouring starts and ends of lifetimes (StreamInsight's snapshot
  * windows, S-30). The rows of a window are the same at each instant of the window.
  */
final case class Snapshot(closed: Closed = Closed.Left) extends SweptWindow {

  override def convention: TimeConvention = TimeConvention.of(closed)

  override def takesLifetimes: Boolean = true
}

/** The last `sizeUs` microseconds before each instant at which a row enters or leaves them
  * (Azure's sliding windows, Z-34). A window includes its end.
  *
  * @param sizeUs
  *   length of a window
  */
final case class Rolling(sizeUs: Long) extends SweptWindow {

  Check.positive("size_us", sizeUs)
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

  override def takesLifetimes: Boolean = true
}
