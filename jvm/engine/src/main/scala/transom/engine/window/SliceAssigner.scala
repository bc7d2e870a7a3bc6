package transom.engine.window

import transom.engine.time.{Ticks, Watermark}

/** Assigns rows to the slices of a log, and decides which rows are late.
  *
  * Times and watermarks are microseconds in the engine's convention.
  */
sealed trait SliceAssigner extends Serializable {

  /** The slice of a row, or `Grid.NoSlice` if the row belongs to no window. */
  def sliceOf(time: Long): Long

  /** Creates the lateness check of one task. */
  def lateness(): Lateness

  /** The windows of a row that had fired at `watermark`, with bounds in microseconds since 1970.
    */
  def missed(time: Long, watermark: Long): MissedWindows
}

/** Assigns rows to the slices of grids. With several grids, each boundary of a slice in one of
  * them is a boundary here. Each window of each grid then consists of whole slices.
  *
  * @param grids
  *   grids that share a time zone
  */
final class GridSlices(val grids: Vector[Grid]) extends SliceAssigner {
  private val first = grids.head
  private val isSingle = grids.length == 1
  private val hasGaps = grids.forall(_.hasGaps)

  override def sliceOf(time: Long): Long = if (isSingle) first.sliceOf(time) else finest(time)

  override def lateness(): Lateness = new SliceLateness(this)

  override def missed(time: Long, watermark: Long): MissedWindows =
    MissedWindows.merged(grids.map { grid =>
      MissedWindows.inOrder(grid.missed(grid.sliceOf(time), watermark))
    })

  /** The instant at which the first window that contains a slice ends. */
  def firstEndOf(slice: Long): Long =
    ends(slice)((grid, own) => grid.endOf(grid.firstWindow(own, Long.MinValue))).min

  /** The instant at which the last window that contains a slice ends. */
  def lastEndOf(slice: Long): Long = ends(slice)(_.lastEndOf(_)).max

  /** The end of the last window of a slice that has fired at a watermark, or `Watermark.NotYet`.
    */
  def lastFired(slice: Long, watermark: Long): Long =
    ends(slice)(_.lastEndBy(_, watermark)).max

  /** An end for each grid whose windows contain the slice. */
  private def ends(slice: Long)(endIn: (Grid, Long) => Long): Seq[Long] = for {
    grid <- grids
    own = grid.sliceAt(slice)
    if own != Grid.NoSlice
  } yield endIn(grid, own)

  private def finest(time: Long): Long = {
    val gridTime = first.timeAt(time)
    var boundary = Long.MinValue
    var i = 0
    while (i < grids.length) {
      boundary = math.max(boundary, grids(i).boundaryAt(gridTime))
      i += 1
    }
    if (hasGaps && grids.forall(_.isInGap(gridTime))) Grid.NoSlice else boundary
  }
}

/** Assigns rows of sessions to slices that are as wide as the gap, in microseconds. */
final class SessionSlices(val gap: Long, val inclusive: Boolean) extends SliceAssigner {
  override def sliceOf(time: Long): Long = Sessions.sliceOf(time, gap)
  override def lateness(): Lateness = new SessionLateness(gap)
  override def missed(time: Long, watermark: Long): MissedWindows =
    MissedWindows.of(Sessions.windowOf(time, gap))
}

/** Decides from a row's time and slice alone whether the row is late. Not thread-safe. */
sealed abstract class Lateness {

  /** Whether all windows of a row have fired at a watermark. For sessions: whether the row alone
    * would be a session that has closed.
    */
  def isLate(time: Long, slice: Long, watermark: Long): Boolean

  /** Whether at least one window of the slice has fired at a watermark. Always false for
    * sessions.
    */
  def isPartlyLate(slice: Long, watermark: Long): Boolean

  /** The end of the last window of the slice that has fired at a watermark, or
    * `Watermark.NotYet`.
    */
  def lastFired(slice: Long, watermark: Long): Long
}

/** Lateness by the windows that contain the slice of a row. */
private final class SliceLateness(slices: GridSlices) extends Lateness {
  private val lastEnd = new LastSliceCache(slices.lastEndOf)
  private val firstEnd = new LastSliceCache(slices.firstEndOf)

  override def isLate(time: Long, slice: Long, watermark: Long): Boolean =
    lastEnd(slice) <= watermark
  override def isPartlyLate(slice: Long, watermark: Long): Boolean =
    firstEnd(slice) <= watermark

  override def lastFired(slice: Long, watermark: Long): Long = slices.lastFired(slice, watermark)
}

/** Caches the end of a window of the last slice. Consecutive rows often share a slice. The end of
  * a window may depend on the rules of a time zone, which are slow to evaluate.
  */
private final class LastSliceCache(endOf: Long => Long) {
  private var last = Grid.NoSlice
  private var end = 0L

  def apply(slice: Long): Long = {
    if (slice != last) {
      last = slice
      end = endOf(slice)
    }
    end
  }
}

/** Lateness of a row as a session of its own. Only the key group knows whether an open session
  * accepts the row anyway.
  */
private final class SessionLateness(gap: Long) extends Lateness {
  override def isLate(time: Long, slice: Long, watermark: Long): Boolean =
    Ticks.add(time, gap) <= watermark
  override def isPartlyLate(slice: Long, watermark: Long): Boolean = false
  override def lastFired(slice: Long, watermark: Long): Long = Watermark.NotYet
}
