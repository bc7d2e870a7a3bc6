package transom.engine.sweep

import transom.engine.window.{CountByStart, GridWindow, Rolling, RowContext, Snapshot, TimeWindow, Window}

/** A row of a generated stream.
  *
  * @param met
  *   the watermark that the row met
  */
final case class Lifetimed(number: Long, key: Int, start: Long, end: Long, met: Long)

/** The result of a window: its key, bounds and the numbers of its rows. */
final case class Content(key: Int, window: TimeWindow, rows: Set[Long])

/** What windows over lifetimes hold. Computes each window from all rows of the stream. */
final class SweepModel(window: Window, val rows: Seq[Lifetimed]) {
  import SweepModel.windowsOf

  /** The numbers of the rows that count in no window. */
  val late: Set[Long] = rows.filter(isLate).map(_.number).toSet

  /** The numbers of the rows that do not count in their first windows. */
  val partlyLate: Set[Long] = rows
    .filterNot(row => late(row.number) || isInGap(row))
    .filter(row =>
      window match {
        case _: CountByStart => false
        case grid: GridWindow => windowsOf(grid, row.start, row.end).head.end <= row.met
        case _ => row.start < row.met
      })
    .map(_.number)
    .toSet

  // A row behind the watermark counts from the watermark on.
  private val counted = rows
    .filterNot(row => late(row.number) || isInGap(row))
    .map(row => row.copy(start = math.max(row.start, row.met)))

  /** All results after the end of the input, in order of time for each key. */
  val results: Map[Int, Seq[Content]] = counted
    .groupBy(_.key)
    .map { case (key, rows) =>
      key -> (window match {
        case _: Snapshot => snapshots(key, rows)
        case Rolling(size) => rolling(key, rows, size)
        case CountByStart(size) => byStart(key, rows, size)
        case grid: GridWindow => onGrid(key, rows, grid)
        case other => throw new IllegalArgumentException(s"$other")
      }).filter(_.rows.nonEmpty)
    }
    .filter(_._2.nonEmpty)

  private def isLate(row: Lifetimed): Boolean = window match {
    case _: CountByStart => row.start < row.met
    case grid: GridWindow =>
      val own = windowsOf(grid, row.start, row.end)
      own.nonEmpty && own.forall(_.end <= row.met) && !isOpenLater(grid, row)
    case _ => row.end <= row.met
  }

  // Only the first windows of a row without end are listed.
  private def isOpenLater(grid: GridWindow, row: Lifetimed): Boolean =
    row.end == RowContext.NoEnd || windowsOf(grid, row.met, row.end).exists(_.end > row.met)

  private def isInGap(row: Lifetimed): Boolean = window match {
    case grid: GridWindow => windowsOf(grid, row.start, row.end).isEmpty
    case _ => false
  }

  private def snapshots(key: Int, rows: Seq[Lifetimed]): Seq[Content] = {
    val stops = stopsOf(rows)
    stops.zip(stops.drop(1)).map { case (from, until) =>
      Content(key, TimeWindow(from, until), liveAt(rows, from))
    }
  }

  private def rolling(key: Int, rows: Seq[Lifetimed], size: Long): Seq[Content] =
    stopsOf(rows).map(stop => Content(key, TimeWindow(stop - size, stop), liveAt(rows, stop)))

  private def byStart(key: Int, rows: Seq[Lifetimed], size: Int): Seq[Content] =
    rows.map(_.start).distinct.sorted.sliding(size).filter(_.size == size).toSeq.map { starts =>
      val held = rows.filter(row => starts.contains(row.start)).map(_.number).toSet
      Content(key, TimeWindow(starts.head, starts.last + 1), held)
    }

  private def onGrid(key: Int, rows: Seq[Lifetimed], grid: GridWindow): Seq[Content] = {
    val last = rows.map(row => if (row.end == RowContext.NoEnd) row.start + 1 else row.end).max
    // Rows without end are in all windows until the watermark has come to its end.
    val until = math.max(last, this.rows.last.met)
    val all = windowsOf(grid, rows.map(_.start).min, until)
    all.filter(window => window.start < last || window.end <= this.rows.last.met).map { window =>
      val held = rows.filter(row => row.start < window.end && row.end > window.start)
      Content(key, window, held.map(_.number).toSet)
    }
  }

  private def stopsOf(rows: Seq[Lifetimed]): Seq[Long] =
    rows.flatMap(row => Seq(row.start, row.end)).filter(_ != RowContext.NoEnd).distinct.sorted

  private def liveAt(rows: Seq[Lifetimed], time: Long): Set[Long] =
    rows.filter(row => row.start <= time && time < row.end).map(_.number).toSet
}

private object SweepModel {

  /** Longer than any generated window. */
  val Longest = 40L

  /** How far ahead windows of rows without end are listed. */
  val Horizon = 600L

  /** The windows that overlap `[start, end)`, in the order of their ends. */
  def windowsOf(grid: GridWindow, start: Long, end: Long): Seq[TimeWindow] = {
    val until = math.min(end, start + Horizon)
    val windows = grid.grid
    (start - Longest until until)
      .flatMap(windows.windowsOf(_))
      .distinct
      .filter(window => window.end > start && window.start < end)
      .sortBy(window => (window.end, window.start))
  }
}
