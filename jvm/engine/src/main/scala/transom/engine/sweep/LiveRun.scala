package transom.engine.sweep

import transom.engine.state.{StateReader, StateWriter}
import transom.engine.window.RowContext

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
