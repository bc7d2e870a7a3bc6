package transom.engine.window

import scala.collection.mutable.ArrayBuffer

import transom.engine.firing.Trigger
import transom.engine.time.Timeline

/** One window per key that contains all rows. */
case object Global extends Window {

  override def assigner(timeline: Timeline): Assigner = GlobalAssigner

  override def slices: Either[String, SliceAssigner] = Right(new GridSlices(Vector(GlobalGrid)))

  override def defaultTrigger(isOnClock: Boolean): Option[Trigger] = None

  override def isEndless: Boolean = true
}

/** A grid with one window for all time, which fires when the input ends.
  *
  * The window ends long after the time of any row. The watermark reaches this end only when a
  * stream is drained or a static DataFrame ends.
  */
object GlobalGrid extends Grid {

  private val window = TimeWindow(0L, Timeline.EndOfTime)

  override def timeAt(instant: Long): Long = instant
  override def unit: Long = Timeline.EndOfTime
  override def boundaryAt(gridTime: Long): Long = window.start
  override def sliceEnd(slice: Long): Long = window.end
  override def firstWindow(slice: Long, after: Long): TimeWindow =
    if (after < Timeline.EndOfTime) window else null
  override def firstAfter(instant: Long): TimeWindow = firstWindow(window.start, instant)
  override def nextWindow(window: TimeWindow): TimeWindow = null
  override def lastEndOf(slice: Long): Long = Timeline.EndOfTime
  override def lastStartOf(slice: Long): Long = window.start
  override def instantOf(gridTime: Long): Long = gridTime
  override def endOf(window: TimeWindow): Long = Timeline.EndOfTime
}

/** Assigns all rows to one window without end. */
abstract class GlobalAssigner extends Assigner {

  private val window = TimeWindow(0L, Timeline.EndOfTime)

  override def assign(row: RowContext, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    windows += window

  override def timeline: Timeline = Timeline.Endless
}

/** Assigns all rows to one window without end that uses the user's triggers and evictors. */
object GlobalAssigner extends GlobalAssigner
