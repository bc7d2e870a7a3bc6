package transom.engine.window

/** A model of sessions: merges windows by the definition of a session. */
object SessionModel {

  /** The sessions of some windows, in order of time, each with the windows that it consists of.
    */
  def merge(
      windows: Seq[TimeWindow],
      inclusive: Boolean = true): Seq[(TimeWindow, Seq[TimeWindow])] =
    windows
      .sortBy(window => (window.start, window.end))
      .foldLeft(List.empty[(TimeWindow, Seq[TimeWindow])]) {
        case ((last, sources) :: rest, window)
            if window.start < last.end || inclusive && window.start == last.end =>
          (last.union(window), sources :+ window) :: rest
        case (merged, window) => (window, Vector(window)) :: merged
      }
      .reverse
}
