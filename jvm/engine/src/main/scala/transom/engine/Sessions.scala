package transom.engine

/** How windows of one key that stay open while rows keep arriving come together. */
object Sessions {

  /** The window that a row opens before it meets others: as far as the next row may be away. */
  def windowOf(time: Long, gap: Long): TimeWindow = TimeWindow(time, Ticks.add(time, gap))

  /** Whether the two are one session. Rows exactly one gap apart are, unless `inclusive` is off.
    */
  def intersects(a: TimeWindow, b: TimeWindow, inclusive: Boolean = true): Boolean =
    if (inclusive) a.intersects(b) else a.overlaps(b)

  /** The sessions that `windows` make up, in order of time. */
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

/** A session and the windows it was made of. */
final case class MergedWindow(window: TimeWindow, sources: Seq[TimeWindow])
