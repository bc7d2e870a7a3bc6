package transom.engine.state

/** Merges serialised accumulators, and computes the result of a window from an accumulator.
  *
  * The engine treats accumulators as bytes. In a query, Spark's aggregates implement this trait.
  *
  * One instance serves one task and is not thread-safe. Call `start` first, then `merge` for each
  * further accumulator, then `accumulator` or `result`. An implementation may keep a reference to
  * the array of an argument, but not to the [[ByteRange]], which the caller reuses.
  */
trait AccumulatorMerger[+T] {

  /** Starts a merge with its first accumulator. */
  def start(accumulator: ByteRange): Unit

  /** Merges another accumulator into the current one. */
  def merge(accumulator: ByteRange): Unit

  /** The merged accumulator, valid until the next `start`. */
  def accumulator: ByteRange

  /** Announces that the following results belong to windows that fire at a watermark, in
    * microseconds since 1970.
    */
  def startFiring(watermark: Long): Unit = ()

  /** Announces that the following results belong to a member of several windows in one pass.
    *
    * @param index
    *   the number of the member, from 0
    */
  def startMember(index: Int): Unit = ()

  /** Computes the result of the merged accumulator.
    *
    * @param key
    *   the key of the window
    * @param windowStart
    *   start of the window, an instant in microseconds
    * @param windowEnd
    *   end of the window, an instant in microseconds
    */
  def result(key: ByteRange, windowStart: Long, windowEnd: Long): T
}
