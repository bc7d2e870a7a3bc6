package transom.engine.log

/** Merges accumulators that the engine sees as bytes, and turns that of a key into a result. The
  * aggregates behind it are Spark's; tests bring plain ones.
  *
  * One instance serves one task. `start` and `merge` may keep the range's array, not the range.
  */
trait AccumulatorMerger[T] {
  def start(accumulator: ByteRange): Unit
  def merge(accumulator: ByteRange): Unit

  /** The merged accumulator; valid until the next `start`. */
  def accumulator: ByteRange

  /** The result of the accumulator for a window, whose bounds are instants in microseconds. */
  def result(key: ByteRange, windowStart: Long, windowEnd: Long): T
}
