package transom.engine.window

import transom.engine.time.Ticks

/** Computes session windows and merges them. */
object Sessions {

  /** The window of a single row: from `time` to `time + gap`, in microseconds. */
  def windowOf(time: Long, gap: Long): TimeWindow = TimeWindow(time, Ticks.add(time, gap))

  /** Whether two windows belong to one session. Windows that only touch do, unless `inclusive` is
    * false.
    */
  def intersects(a: TimeWindow, b: TimeWindow, inclusive: Boolean = true): Boolean =
    if (inclusive) a.intersects(b) else a.overlaps(b)

  /** Merges windows of one key into sessions, in order of time. */
  def merge(windows: Seq[TimeWindow], inclusive: Boolean = true): Seq[MergedWindow] =
    windows
      .sortBy(window => (window.start, window.end))
      .foldLeft(List.empty[MergedWindow]) {
        case (last :: rest, window) if intersects(last.window, window, inclusive) =>
          MergedWindow(last.window.cover(window), last.sources :+ window) :: rest
        case (merged, window) => MergedWindow(window, Vector(window)) :: merged
      }
      .reverse
}

/** A session and the windows that were merged into it. */
final case class MergedWindow(window: TimeWindow, sources: Seq[TimeWindow])
