package transom.engine.window

/** The windows that had closed when a late row came, in the order of their ends. A row may be in
  * millions of windows, so only the first ones are listed.
  *
  * @param isTruncated
  *   whether the row has missed further windows
  */
final case class MissedWindows(listed: Vector[TimeWindow], isTruncated: Boolean)

/** Lists the windows that a row has missed. */
object MissedWindows {

  /** How many windows are listed. */
  final val Most = 1000

  val None: MissedWindows = MissedWindows(Vector.empty, isTruncated = false)

  def of(window: TimeWindow): MissedWindows = MissedWindows(Vector(window), isTruncated = false)

  /** Lists the first windows.
    *
    * @param windows
    *   the windows in the order of their ends; at most one window more than listed is read
    */
  def inOrder(windows: Iterator[TimeWindow]): MissedWindows = {
    val first = windows.take(Most + 1).toVector
    MissedWindows(first.take(Most), isTruncated = first.length > Most)
  }

  /** Lists the first windows of windows in any order. */
  def inAnyOrder(windows: Iterator[TimeWindow]): MissedWindows =
    inOrder(windows.toVector.sortBy(window => (window.end, window.start)).iterator)

  /** Lists the first windows of several lists. */
  def merged(parts: Seq[MissedWindows]): MissedWindows = {
    val all = inAnyOrder(parts.iterator.flatMap(_.listed))
    all.copy(isTruncated = all.isTruncated || parts.exists(_.isTruncated))
  }
}
