package transom.engine.window

import scala.collection.mutable.ArrayBuffer

import transom.engine.firing.{AfterCount, Evictor, KeepLast, Purging, Trigger}
import transom.engine.setting.Check
import transom.engine.time.Timeline

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
  if (!partial) Check.windowsPerRow("slide", size, step, step.toString)

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

  override def assigner(timeline: Timeline): Assigner =
    if (isNumbered) new CountAssigner(size, step) else LastRowsAssigner

  override def slices: Either[String, SliceAssigner] = Left("Count windows")

  override def defaultTrigger(isOnClock: Boolean): Option[Trigger] = Some(requiredTrigger)

  override def isEndless: Boolean = true
}

/** Assigns rows to partial count windows: an evictor keeps the last rows of a window without end.
  */
object LastRowsAssigner extends GlobalAssigner {
  override def boundsFromRows: Boolean = true
}

/** Assigns the rows of a key to windows of `size` rows, with a new window every `slide` rows.
  * Window k holds the rows with index `k * slide` up to but not including `k * slide + size`,
  * counted from 0.
  */
final class CountAssigner(size: Long, slide: Long) extends Assigner {

  override def assign(row: RowContext, index: Long, windows: ArrayBuffer[TimeWindow]): Unit = {
    val last = index - index % slide
    var start = last - (size - 1) / slide * slide
    while (start <= last) {
      if (start >= 0 && index < start + size) windows += TimeWindow(start, start + size)
      start += slide
    }
  }

  override def timeline: Timeline = Timeline.Endless

  override def endOf(window: TimeWindow): Long = Timeline.EndOfTime

  override def boundsFromRows: Boolean = true

  override def numberOf(window: TimeWindow): Option[Long] = Some(window.start / slide)

  override def endsWhenPurged: Boolean = true

  override def countRow(rows: Long, isIdle: Boolean): Long =
    if (isIdle) (rows + 1) % slide else rows + 1
}
