package transom.engine.sweep

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import transom.engine.state.{StateReader, StateWriter}
import transom.engine.window.RowContext

/** The live rows of a key: those whose lifetime contains the position of the sweep.
  *
  * New rows go to the back, which has an accumulator of its first rows. When the first row of the
  * back ends, the rest of the back becomes a run, see [[LiveRun]]. Runs of similar size are
  * merged, so there are O(log n) runs, and a row is moved O(log n) times. Rows that end in the
  * order of their starts are moved once. No aggregate needs an inverse.
  *
  * What the rows are merged into depends only on the order of the calls. So sums of
  * floating-point numbers do not depend on batches. Not thread-safe.
  *
  * Rows are bytes in chunks of bounded size, which are entries of the state, see [[RowChunks]].
  *
  * @param open
  *   the rows that wait for the row with their end; null if the spec has no edges
  * @param store
  *   stores the rows of the key
  */
private[sweep] final class LiveRows(val open: OpenRows, private[sweep] val store: SweepStore) {
  private[sweep] val runs = ArrayBuffer.empty[LiveRun]
  private[sweep] val back = new BackRows(store)
  private val numbers = new EntryNumbers(0L)

  /** The accumulator of the first rows of the back, their number, and the size of the others. */
  private[sweep] var backAccumulator: Array[Byte] = Array.emptyByteArray
  private[sweep] var accumulated = 0
  private[sweep] var addedSize = 0

  def isEmpty: Boolean = runs.isEmpty && back.isEmpty && (open == null || open.isEmpty)

  def size: Int = {
    var all = back.length + (if (open == null) 0 else open.size)
    var i = 0
    while (i < runs.length) {
      all += runs(i).size
      i += 1
    }
    all
  }

  /** Estimated number of bytes in memory. */
  def heldBytes: Long = {
    var all = back.heldBytes + (if (open == null) 0L else open.heldBytes)
    var i = 0
    while (i < runs.length) {
      all += runs(i).heldBytes
      i += 1
    }
    all
  }

  /** The first end; `RowContext.NoEnd` if no lifetime has an end. */
  def firstEnd: Long = {
    var end = if (open == null) back.firstEnd else math.min(back.firstEnd, open.firstEnd)
    var i = 0
    while (i < runs.length) {
      end = math.min(end, runs(i).firstEnd)
      i += 1
    }
    end
  }

  /** The first start. Requires that there are rows, and that rows end in the order in which they
    * start.
    */
  def firstStart: Long =
    if (runs.isEmpty) back.iterator.next().start else runs.minBy(_.firstEnd).first.start

  /** The rows in no particular order. */
  def iterator: Iterator[LifetimeRow] =
    runs.iterator.flatMap(_.iterator) ++ back.iterator ++
      (if (open == null) Iterator.empty else open.iterator)

  def clear(): Unit = {
    runs.foreach(_.removeEntries())
    runs.clear()
    clearBack()
    if (open != null) open.clear()
  }

  private[sweep] def clearBack(): Unit = {
    back.clear()
    backAccumulator = Array.emptyByteArray
    accumulated = 0
    addedSize = 0
  }

  def write(out: StateWriter): Unit = {
    out.unsigned(runs.length)
    runs.foreach(_.write(out, numbers))
    back.write(out, numbers)
    out.unsigned(addedSize)
    out.unsigned(accumulated)
    if (accumulated > 0) out.array(backAccumulator)
    if (open != null) open.write(out)
    out.unsigned(numbers.last)
  }

  /** Adds the rows that `write` has written to no rows.
    *
    * @param written
    *   the layout of the rows that are in no chunk
    */
  def read(in: StateReader, written: Int): Unit = {
    runs ++= Array.fill(in.unsigned().toInt)(LiveRun.read(in, store))
    back.read(in, written)
    addedSize = in.unsigned().toInt
    accumulated = in.unsigned().toInt
    if (accumulated > 0) backAccumulator = in.array()
    if (open != null) open.read(in)
    numbers.last = in.unsigned()
  }
}

private[sweep] object LiveRows {

  /** Writes rows in their order. */
  def writeRows(rows: Iterator[LifetimeRow], count: Int, out: StateWriter): Unit = {
    out.unsigned(count)
    var start = 0L
    rows.foreach { row =>
      writeRow(row, start, out)
      start = row.start
    }
  }

  def writeRow(row: LifetimeRow, previousStart: Long, out: StateWriter): Unit = {
    out.signed(row.start - previousStart)
    out.signed(row.end - row.start)
    out.array(row.bytes, row.offset, row.length)
  }

  def readRow(in: StateReader, previousStart: Long): LifetimeRow = {
    val start = previousStart + in.signed()
    val end = start + in.signed()
    val length = in.skipArray()
    new LifetimeRow(start, end, in.bytes, in.offset - length, length)
  }

  /** Reads rows that `writeRows` wrote. */
  def readRows(in: StateReader): Iterator[LifetimeRow] = {
    var start = 0L
    Iterator.fill(in.unsigned().toInt) {
      val row = readRow(in, start)
      start = row.start
      row
    }
  }
}

/** Live rows of a key, sorted by the ends of their lifetimes, as bytes in [[RowChunks]].
  *
  * A row may also have the accumulator of itself and all rows that end later. So removing the
  * first row needs no other work. The last row has one, and each row if accumulators are small.
  * See [[LiveRowAggregation]].
  *
  * {{{
  * row     difference of the end to the end of the previous row of the chunk, length of the
  *         lifetime, row, accumulator of the rows from this one on, empty if there is none
  * }}}
  *
  * Not thread-safe.
  *
  * @param chunks
  *   the chunks, which a `copy` shares
  * @param at
  *   the chunk of the first row
  * @param left
  *   number of rows in this chunk from the first row on
  * @param previousEnd
  *   the end that precedes the first row's end in this chunk
  * @param from
  *   where the first row starts in this chunk
  * @param isCopy
  *   whether another run still needs the rows that are removed
  */
private[sweep] final class LiveRun private (
    chunks: RowChunks,
    store: SweepStore,
    private var at: Int,
    private var count: Int,
    private var left: Int,
    private var previousEnd: Long,
    private var from: Int,
    isCopy: Boolean) {
  // Null while the first row has not been read.
  private var head: LifetimeRow = _
  private var in: StateReader = _
  private var accumulatorFrom = 0
  private var accumulatorLength = 0

  def size: Int = count

  /** Estimated number of bytes in memory. */
  def heldBytes: Long = chunks.heldBytes

  /** The first end; `RowContext.NoEnd` if the run is empty. */
  def firstEnd: Long =
    if (head != null) head.end else if (count == 0) RowContext.NoEnd else first.end

  /** The row that ends first. Requires that there is one. */
  def first: LifetimeRow = {
    if (head == null) {
      // A copy reads all rows once, so its chunks do not stay in memory.
      if (in == null) in = new StateReader(if (isCopy) chunks.peek(at) else chunks.read(at), from)
      // Sums wrap around, so a lifetime without end needs no special case.
      val end = previousEnd + in.signed()
      val start = end - in.signed()
      val length = in.skipArray()
      head = new LifetimeRow(start, end, in.bytes, in.offset - length, length)
        .from(chunks.layoutOf(at), store.codec)
      accumulatorLength = in.skipArray()
      accumulatorFrom = in.offset - accumulatorLength
    }
    head
  }

  /** Whether the first row has an accumulator. */
  def isAccumulated: Boolean = {
    first: Unit
    accumulatorLength > 0
  }

  /** Calls `use` with the range of the accumulator of all rows. Requires `isAccumulated`. */
  def accumulated[T](use: (Array[Byte], Int, Int) => T): T =
    use(in.bytes, accumulatorFrom, accumulatorLength)

  /** Removes the first row. */
  def removeFirst(): Unit = {
    previousEnd = first.end
    from = in.offset
    head = null
    count -= 1
    left -= 1
    if (left == 0) {
      if (!isCopy) chunks.release(at)
      at += 1
      previousEnd = 0L
      from = 0
      in = null
      left = if (count == 0) 0 else chunks.rowsOf(at)
    }
  }

  /** A run of the same rows, which changes on its own. */
  def copy: LiveRun =
    new LiveRun(chunks, store, at, count, left, previousEnd, from, isCopy = true)

  /** The rows in order of their ends. */
  def iterator: Iterator[LifetimeRow] = {
    val rest = copy
    Iterator.fill(count) {
      val row = rest.first
      rest.removeFirst()
      row
    }
  }

  /** Removes the entries of all rows. */
  def removeEntries(): Unit = chunks.clear()

  /** Writes the chunks to their entries, and the list of chunks. */
  def write(out: StateWriter, numbers: EntryNumbers): Unit = {
    chunks.removeFirst(at)
    at = 0
    if (from > 0 && chunks.isInValue) {
      chunks.trimFirst(from, left)
      from = 0
      in = null
      head = null
    }
    out.unsigned(count)
    out.unsigned(left)
    out.signed(previousEnd)
    out.unsigned(from)
    chunks.write(out, numbers)
  }
}

private[sweep] object LiveRun {

  /** Builds a run.
    *
    * @param rows
    *   the rows, sorted by end; at least one
    * @param accumulators
    *   for each row, the accumulator of the row and all rows behind it, or an empty array
    */
  def of(
      rows: collection.IndexedSeq[LifetimeRow],
      accumulators: Array[Array[Byte]],
      out: StateWriter,
      store: SweepStore): LiveRun = {
    val chunks = new RowChunks(store)
    var previous = 0L
    var count = 0
    var i = 0
    while (i < rows.length) {
      val row = rows(i)
      out.signed(row.end - previous)
      out.signed(row.end - row.start)
      out.array(row.bytes, row.offset, row.length)
      out.array(accumulators(i))
      previous = row.end
      count += 1
      i += 1
      if (out.length >= RowChunks.Size || i == rows.length) {
        chunks.add(out.take(), count)
        previous = 0L
        count = 0
      }
    }
    new LiveRun(chunks, store, 0, rows.length, chunks.rowsOf(0), 0L, 0, isCopy = false)
  }

  /** Reads a run that `write` has written. */
  def read(in: StateReader, store: SweepStore): LiveRun = {
    val count = in.unsigned().toInt
    val left = in.unsigned().toInt
    val previousEnd = in.signed()
    val from = in.unsigned().toInt
    val chunks = new RowChunks(store)
    chunks.read(in)
    new LiveRun(chunks, store, 0, count, left, previousEnd, from, isCopy = false)
  }
}

/** Rows in the order in which they were added. All but the last rows are bytes in [[RowChunks]].
  * Not thread-safe.
  */
private[sweep] final class BackRows(store: SweepStore) {
  private val chunks = new RowChunks(store)
  private val last = ArrayBuffer.empty[LifetimeRow]
  private var inChunks = 0
  private var lastBytes = 0
  private var firstEndInChunks = RowContext.NoEnd
  private var first = RowContext.NoEnd

  def length: Int = inChunks + last.length

  def isEmpty: Boolean = length == 0

  /** The first end; `RowContext.NoEnd` if no lifetime has an end. */
  def firstEnd: Long = first

  /** Estimated number of bytes in memory. */
  def heldBytes: Long = chunks.heldBytes + lastBytes + LifetimeRow.Weight * last.length

  def add(row: LifetimeRow): Unit = {
    last += row
    lastBytes += row.length
    first = math.min(first, row.end)
    if (lastBytes >= RowChunks.Size) {
      LiveRows.writeRows(last.iterator, last.length, store.out)
      chunks.add(store.out.take(), last.length)
      inChunks += last.length
      firstEndInChunks = first
      last.clear()
      lastBytes = 0
    }
  }

  /** The rows in their order. */
  def iterator: Iterator[LifetimeRow] =
    Iterator.range(0, chunks.length).flatMap(rowsOf) ++ last.iterator

  /** Calls `use` with the rows from number `from` on. */
  def foreach(from: Int)(use: LifetimeRow => Unit): Unit = {
    if (from < inChunks) {
      var at = chunks.length
      var number = inChunks
      while (number > from) {
        at -= 1
        number -= chunks.rowsOf(at)
      }
      Iterator.range(at, chunks.length).flatMap(rowsOf).drop(from - number).foreach(use)
    }
    var i = math.max(from - inChunks, 0)
    while (i < last.length) {
      use(last(i))
      i += 1
    }
  }

  private def rowsOf(chunk: Int): Iterator[LifetimeRow] =
    LiveRows
      .readRows(new StateReader(chunks.peek(chunk)))
      .map(_.from(chunks.layoutOf(chunk), store.codec))

  /** Removes all rows and their entries. */
  def clear(): Unit = {
    chunks.clear()
    last.clear()
    inChunks = 0
    lastBytes = 0
    firstEndInChunks = RowContext.NoEnd
    first = RowContext.NoEnd
  }

  def write(out: StateWriter, numbers: EntryNumbers): Unit = {
    chunks.write(out, numbers)
    if (chunks.length > 0) out.signed(firstEndInChunks)
    LiveRows.writeRows(last.iterator, last.length, out)
  }

  /** Adds the rows that `write` has written to no rows.
    *
    * @param written
    *   the layout of the rows that are in no chunk
    */
  def read(in: StateReader, written: Int): Unit = {
    chunks.read(in)
    inChunks = Iterator.range(0, chunks.length).map(chunks.rowsOf).sum
    if (inChunks > 0) firstEndInChunks = in.signed()
    first = firstEndInChunks
    LiveRows.readRows(in).foreach(row => add(row.from(written, store.codec)))
  }
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
