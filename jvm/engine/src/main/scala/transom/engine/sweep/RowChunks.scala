package transom.engine.sweep

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import transom.engine.keyed.contract.{Entries, RowCodec}
import transom.engine.state.{StateReader, StateWriter}

/** The entries in which a key stores rows, and the codec of the rows. All keys of a task share
  * it. Not thread-safe.
  */
private[sweep] final class SweepStore(val entries: Entries, val codec: RowCodec[_]) {

  /** Encodes rows. Empty between calls. */
  val out = new StateWriter
}

/** Rows as bytes, in chunks of bounded size that never change: a run, or a part of the back.
  *
  * Several chunks are entries of the state. An entry is written once, and read when a row of the
  * chunk is needed. A single chunk is part of the key's value instead. The bytes of a chunk keep
  * the layout in which the rows were written. Not thread-safe.
  *
  * {{{
  * chunks  number of chunks, chunks
  * chunk   number of rows, layout of the rows, number of the entry plus one; without an entry 0
  *         and the bytes
  * }}}
  */
private[sweep] final class RowChunks(store: SweepStore) {
  import RowChunks._

  private val chunks = ArrayBuffer.empty[Chunk]
  private var bytes = 0L

  def length: Int = chunks.length

  /** Estimated number of bytes in memory. */
  def heldBytes: Long = bytes + Weight * chunks.length

  /** Number of rows of a chunk. */
  def rowsOf(at: Int): Int = chunks(at).count

  /** The layout of the rows of a chunk. */
  def layoutOf(at: Int): Int = chunks(at).layout

  def add(rows: Array[Byte], count: Int): Unit = {
    chunks += new Chunk(count, store.codec.layout, rows, NoEntry)
    bytes += rows.length
  }

  /** The bytes of a chunk, which stay in memory. */
  def read(at: Int): Array[Byte] = {
    val chunk = chunks(at)
    if (chunk.bytes == null) {
      chunk.bytes = peek(at)
      bytes += chunk.bytes.length
    }
    chunk.bytes
  }

  /** The bytes of a chunk, which do not stay in memory if they are only in their entry. */
  def peek(at: Int): Array[Byte] = {
    val chunk = chunks(at)
    if (chunk.bytes == null) store.entries.getBytes(List, chunk.entry) else chunk.bytes
  }

  /** Gives up the bytes of a chunk whose rows are needed no more. */
  def release(at: Int): Unit = if (chunks(at).bytes != null) {
    bytes -= chunks(at).bytes.length
    chunks(at).bytes = null
  }

  /** Removes the first chunks and their entries. */
  def removeFirst(count: Int): Unit = {
    var at = 0
    while (at < count) {
      release(at)
      if (chunks(at).entry != NoEntry) store.entries.remove(List, chunks(at).entry)
      at += 1
    }
    chunks.remove(0, count)
  }

  def clear(): Unit = removeFirst(chunks.length)

  /** Whether the first chunk is part of the key's value. */
  def isInValue: Boolean = chunks.length == 1 && chunks(0).entry == NoEntry

  /** Removes the rows of the first chunk that are before `from`. Requires `isInValue`. */
  def trimFirst(from: Int, left: Int): Unit = {
    val chunk = chunks(0)
    bytes -= from
    val rest = Arrays.copyOfRange(chunk.bytes, from, chunk.bytes.length)
    chunks(0) = new Chunk(left, chunk.layout, rest, NoEntry)
  }

  /** Writes new chunks to their entries, and the list of chunks. */
  def write(out: StateWriter, numbers: EntryNumbers): Unit = {
    out.unsigned(chunks.length)
    chunks.foreach { chunk =>
      if (chunk.entry == NoEntry && chunks.length > 1) {
        chunk.entry = numbers.next()
        store.entries.putBytes(List, chunk.entry, chunk.bytes)
      }
      out.unsigned(chunk.count)
      out.signed(chunk.layout)
      out.unsigned(chunk.entry + 1)
      if (chunk.entry == NoEntry) out.array(chunk.bytes)
    }
  }

  /** Adds the chunks that `write` has written to no chunks. */
  def read(in: StateReader): Unit = {
    var left = in.unsigned()
    while (left > 0) {
      val count = in.unsigned().toInt
      val layout = in.signed().toInt
      val entry = in.unsigned() - 1
      val rows = if (entry == NoEntry) in.array() else null
      chunks += new Chunk(count, layout, rows, entry)
      if (rows != null) bytes += rows.length
      left -= 1
    }
  }
}

private[sweep] object RowChunks {

  /** Size in bytes from which on a chunk takes no more rows. */
  final val Size = 8 << 10

  private final val NoEntry = -1L

  /** The list of the entries of chunks. */
  private final val List = 1L

  // Estimated heap size of the object of a chunk, in bytes.
  private final val Weight = 64L

  /** @param bytes
    *   the rows; null while they are only in their entry
    */
  private final class Chunk(
      val count: Int,
      val layout: Int,
      var bytes: Array[Byte],
      var entry: Long)
}

/** Numbers the entries of a key. */
private[sweep] final class EntryNumbers(var last: Long) {

  def next(): Long = {
    last += 1
    last
  }
}
