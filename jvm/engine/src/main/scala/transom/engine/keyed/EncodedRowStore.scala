package transom.engine.keyed

import java.nio.ByteBuffer

import transom.engine.keyed.contract.{RowCodec, RowStore}
import transom.engine.keyed.keystate.KeyStore
import transom.engine.state.UnknownStateVersion
import transom.engine.window.{RowContext, TimeConvention}

/** Stores the raw rows of windows, and entries of bytes, in the state of the current key group.
  *
  * Call `open` for each key group and `pointAt` for each key before reading or writing rows.
  *
  * {{{
  * value   version byte, number of the layout int, row
  * }}}
  */
final class EncodedRowStore[R](val codec: RowCodec[R], convention: TimeConvention)
    extends RowStore[R] {
  import EncodedRowStore.HeaderSize

  private var store: KeyStore = _
  private var key: Array[Byte] = _

  def open(store: KeyStore): Unit = this.store = store

  def pointAt(key: Array[Byte]): Unit = this.key = key

  override def put(list: Long, sequence: Long, row: R): Unit =
    store.putRow(key, list, sequence, EncodedRowStore.write(codec.layout, codec.encode(row)))

  override def get(list: Long, sequence: Long): R = {
    val value = store.getRow(key, list, sequence)
    val written = EncodedRowStore.layoutOf(value)
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
    if (time == RowContext.NoTime) time else convention.timeIn(time)
  }
}

private object EncodedRowStore {
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
