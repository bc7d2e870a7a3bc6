package transom.engine.runtime

import transom.engine.state.ByteRange

/** A log of one key group: sorted segments of accumulators, by slice.
  *
  * Times and watermarks are microseconds in the engine's convention. One instance serves one
  * batch. Exhaust the iterator of `fire` before calling another method.
  */
trait SegmentLog[T] {
  private var results = 0L

  /** Adds a segment to a slice.
    *
    * @param lateWatermark
    *   the watermark by which rows of the segment are late
    */
  def append(slice: Long, segment: Array[Byte], lateWatermark: Long): Unit

  /** Adds late rows to windows that still accept them. Returns the other rows in the given order.
    * Grid windows accept no late rows.
    */
  def join(late: Seq[LateRow], lateWatermark: Long): Seq[LateRow] = late

  /** The starts of the open windows, in microseconds since 1970, if the log knows them without
    * reading segments. The inner option is none if no window is open.
    */
  def openStarts: Option[Option[OpenStarts]] = None

  /** The watermark at which the next window fires; `Long.MaxValue` if no window is open. */
  def nextTimer: Long

  /** Fires the windows that end by `watermark`. The state changes as the iterator advances. */
  def fire(watermark: Long): Iterator[T]

  /** Number of results that the iterators of `fire` have returned. */
  final def fired: Long = results

  /** Counts a result that the iterator of `fire` returns. */
  protected final def counted(result: T): T = {
    results += 1
    result
  }

  /** Writes the state. */
  def save(): Unit
}

/** A late row. It counts only if an open window accepts it.
  *
  * @param hash
  *   the hash of the key
  * @param key
  *   the bytes of the key
  * @param time
  *   event time of the row, in microseconds
  * @param accumulator
  *   the accumulator of this one row
  * @param input
  *   the whole input row, for the side output
  * @param isPartly
  *   whether the map side has already combined the row for its windows that had not fired
  * @param watermark
  *   the watermark by which the row is late
  */
final class LateRow(
    val hash: Long,
    val key: ByteRange,
    val time: Long,
    val accumulator: ByteRange,
    val input: ByteRange,
    val isPartly: Boolean,
    val watermark: Long)

/** Orders late rows. */
object LateRow {

  /** The order of records in a segment: by hash, then by key. */
  val KeyOrder: Ordering[LateRow] = (a, b) => {
    val order = java.lang.Long.compare(a.hash, b.hash)
    if (order != 0) order else a.key.compareTo(b.key)
  }
}
