package transom.engine.session

import transom.engine.state.ByteRange

/** A late row, which counts only if it joins a session that is still open.
  *
  * The row's own session, from `time` to `time + gap`, ended by the late watermark.
  *
  * @param hash
  *   the hash of the key
  * @param key
  *   the bytes of the key
  * @param time
  *   event time of the row, in microseconds
  * @param accumulator
  *   the accumulator of this one row
  */
final class LateRow(
    val hash: Long,
    val key: ByteRange,
    val time: Long,
    val accumulator: ByteRange)

/** Orders late rows. */
private[session] object LateRow {

  /** The order of records in a segment: by hash, then by key. */
  val KeyOrder: Ordering[LateRow] = (a, b) => {
    val order = java.lang.Long.compare(a.hash, b.hash)
    if (order != 0) order else a.key.compareTo(b.key)
  }
}
