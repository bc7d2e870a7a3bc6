package transom.engine.keyed

import transom.engine.keyed.state.{Contents, KeyStore}
import transom.engine.state.ByteRange
import transom.engine.window.{Arrival, TimeConvention}

/** Converts the host's rows to bytes and back. The engine sees only the bytes. */
trait RowCodec[R] {

  /** Returns a row that shares `bytes`. The row is valid until the next call. */
  def view(bytes: ByteRange): R

  /** Returns a new row that shares the whole array. */
  def decode(bytes: Array[Byte]): R

  def encode(row: R): Array[Byte]

  /** Replaces the event time in the bytes of a row.
    *
    * @param time
    *   in the host's convention
    */
  def setTime(bytes: ByteRange, time: Long): Unit

  /** The event time of a row in the host's convention, or `Arrival.NoTime`. */
  def timeOf(row: R): Long

  /** The bytes that, with the key, identify the lifetime of a row. Starts and ends of the same
    * lifetime have equal bytes. Called only if the spec has edges.
    */
  def idOf(row: R): Array[Byte] =
    throw new UnsupportedOperationException("the rows have no lifetimes with an id")
}

/** Stores the raw rows of windows in the state of the current key group.
  *
  * Call `open` for each key group and `pointAt` for each key before reading or writing rows.
  */
final class StoredRows[R](val codec: RowCodec[R], convention: TimeConvention)
    extends Contents[R] {
  private var store: KeyStore = _
  private var key: Array[Byte] = _

  def open(store: KeyStore): Unit = this.store = store

  def pointAt(key: Array[Byte]): Unit = this.key = key

  override def put(list: Long, sequence: Long, row: R): Unit =
    store.putRow(key, list, sequence, codec.encode(row))

  override def get(list: Long, sequence: Long): R =
    codec.decode(store.getRow(key, list, sequence))

  override def remove(list: Long, sequence: Long): Unit = store.removeRow(key, list, sequence)

  override def timeOf(row: R): Long = {
    val time = codec.timeOf(row)
    if (time == Arrival.NoTime) time else convention.timeIn(time)
  }
}
