package transom.engine.window

import transom.engine.time.Ticks

/** Computes session windows and decides which windows belong to one session. */
object Sessions {

  /** The window of a single row: from `time` to `time + gap`, in microseconds. */
  def windowOf(time: Long, gap: Long): TimeWindow = TimeWindow(time, Ticks.add(time, gap))

  /** The start of the slice that contains `time`, in microseconds. Slices are `gap` wide. */
  def sliceOf(time: Long, gap: Long): Long = time - Math.floorMod(time, gap)

  /** Whether a session that ends at `end` continues in a session that starts at `start`. Sessions
    * that only touch are one session, unless `inclusive` is false (flink.md 6.1).
    */
  def reaches(end: Long, start: Long, inclusive: Boolean): Boolean =
    if (inclusive) start <= end else start < end

  /** Whether two windows belong to one session. */
  def intersects(a: TimeWindow, b: TimeWindow, inclusive: Boolean): Boolean =
    reaches(a.end, b.start, inclusive) && reaches(b.end, a.start, inclusive)
}
