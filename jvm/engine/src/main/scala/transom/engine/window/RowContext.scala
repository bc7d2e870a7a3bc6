package transom.engine.window

/** Time, watermark and other properties of the current row, besides its values.
  *
  * Times and durations are microseconds. One mutable instance is reused for all rows of a task.
  */
final class RowContext {

  /** Time of the row by the operator's time attribute, or `RowContext.NoTime`. Processing-time
    * windows use the wall-clock time here.
    */
  var time: Long = RowContext.NoTime

  /** The grid slice of a partial aggregate, which stands for rows with several times.
    * `Grid.NoSlice` for a single row.
    */
  var slice: Long = Grid.NoSlice

  /** The late watermark: the watermark by which the row may be late. */
  var watermark: Long = Long.MinValue

  /** The watermark by which windows have fired, if the source of the row may be ahead of the
    * other sources; else `Long.MaxValue`, and windows have fired by `watermark`.
    */
  var firedBy: Long = Long.MaxValue

  /** The watermark by which windows have fired before the row. */
  def reached: Long = math.min(watermark, firedBy)

  /** Wall-clock time of the batch of the row. Set right before windows receive the row. */
  var clock: Long = Long.MinValue

  /** When the row arrived, as one of its columns says. Set only for a judge. */
  var arrival: Long = Long.MinValue

  /** Session gap of the row, for sessions whose gap depends on the row. */
  var gap: Long = 0L

  /** Windows of the row, for custom windows that each row lists. */
  var windows: Seq[TimeWindow] = Nil

  /** End of the row's lifetime, exclusive; `RowContext.NoEnd` if it has none. Set only if the
    * spec has lifetimes.
    */
  var end: Long = RowContext.NoEnd

  /** Copies all properties of another row. */
  def set(other: RowContext): Unit = {
    time = other.time
    slice = other.slice
    watermark = other.watermark
    firedBy = other.firedBy
    clock = other.clock
    arrival = other.arrival
    gap = other.gap
    windows = other.windows
    end = other.end
  }
}

object RowContext {

  /** Marks a row without a time. */
  final val NoTime = Long.MinValue

  /** Marks a lifetime without end. */
  final val NoEnd = Long.MaxValue
}
