package transom.engine.keyed

import java.nio.ByteBuffer

import transom.engine.keyed.keystate.{Contents, KeyStore}
import transom.engine.state.{ByteRange, UnknownStateVersion}
import transom.engine.window.{Arrival, TimeConvention}

/** Converts the host's rows to bytes and back. The engine sees only the bytes. */
trait RowCodec[R] {

  /** Returns a row that shares `bytes`. The row is valid until the next call. */
  def view(bytes: ByteRange): R

  /** Returns a new row that shares the array. */
  def decode(bytes: Array[Byte], offset: Int, length: Int): R

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

  /** The number of the layout in which `encode` writes rows. A store keeps the number with the
    * bytes, because a later run may have another layout.
    */
  def layout: Int

  /** Returns the bytes of a row in the layout of this run.
    *
    * @param written
    *   the layout of the bytes, another one than that of this run
    */
  def converted(written: Int, bytes: Array[Byte], offset: Int, length: Int): Array[Byte]
}

/** Stores the raw rows of windows, and entries of bytes, in the state of the current key group.
  *
  * Call `open` for each key group and `pointAt` for each key before reading or writing rows.
  *
  * {{{
  * value   version byte, number of the layout int, row
  * }}}
  */
final class StoredRows[R](val codec: RowCodec[R], convention: TimeConvention)
    extends Contents[R] {
  import StoredRows.HeaderSize

  private var store: KeyStore = _
  private var key: Array[Byte] = _

  def open(store: KeyStore): Unit = this.store = store

  def pointAt(key: Array[Byte]): Unit = this.key = key

  override def put(list: Long, sequence: Long, row: R): Unit =
    store.putRow(key, list, sequence, StoredRows.write(codec.layout, codec.encode(row)))

  override def get(list: Long, sequence: Long): R = {
    val value = store.getRow(key, list, sequence)
    val written = StoredRows.layoutOf(value)
    val length = value.length - HeaderSize
    if (written == codec.layout) codec.decode(value, HeaderSize, length)
    else {
      val row = codec.converted(written, value, HeaderSize, length)
      codec.decode(row, 0, row.length)
    }
  }

  override def getBytes(list: Long, number: Long): Array[Byte] = store.getRow(key, list, number)

  override def putBytes(list: Long, number: Long, bytes: Array[Byte]): Unit =
    store.putRow(key, list, number, bytes)

  override def remove(list: Long, sequence: Long): Unit = store.removeRow(key, list, sequence)

  override def timeOf(row: R): Long = {
    val time = codec.timeOf(row)
    if (time == Arrival.NoTime) time else convention.timeIn(time)
  }
}

private object StoredRows {
  private final val Version: Byte = 1
  private final val HeaderSize = 5

  private def write(layout: Int, row: Array[Byte]): Array[Byte] =
    ByteBuffer.allocate(HeaderSize + row.length).put(Version).putInt(layout).put(row).array

  private def layoutOf(value: Array[Byte]): Int = {
    val in = ByteBuffer.wrap(value)
    val version = in.get()
    if (version != Version) throw new UnknownStateVersion("a row", version.toInt, Version.toInt)
    in.getInt()
  }
}
