package transom.engine.window

/** Time, watermark and other properties of the current row, besides its values.
  *
  * Times and durations are microseconds. One mutable instance is reused for all rows of a task.
  */
final class Arrival {

  /** Time of the row by the operator's time attribute, or `Arrival.NoTime`. Processing-time
    * windows use the wall-clock time here.
    */
  var time: Long = Arrival.NoTime

  /** The grid slice of a partial aggregate, which stands for rows with several times.
    * `Grid.NoSlice` for a single row.
    */
  var slice: Long = Grid.NoSlice

  /** The late watermark: the watermark by which the row may be late. */
  var watermark: Long = Long.MinValue

  /** Wall-clock time when the row arrived. */
  var clock: Long = Long.MinValue

  /** Session gap of the row, for sessions whose gap depends on the row. */
  var gap: Long = 0L

  /** Windows of the row, for custom windows that each row lists. */
  var windows: Seq[TimeWindow] = Nil

  /** End of the row's lifetime, exclusive; `Arrival.NoEnd` if it has none. Set only if the spec
    * has lifetimes.
    */
  var end: Long = Arrival.NoEnd

  /** Copies all properties of another row. */
  def set(other: Arrival): Unit = {
    time = other.time
    slice = other.slice
    watermark = other.watermark
    clock = other.clock
    gap = other.gap
    windows = other.windows
    end = other.end
  }
}

object Arrival {

  /** Marks a row without a time. */
  final val NoTime = Long.MinValue

  /** Marks a lifetime without end. */
  final val NoEnd = Long.MaxValue
}
