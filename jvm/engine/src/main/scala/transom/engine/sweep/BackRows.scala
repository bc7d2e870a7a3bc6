package transom.engine.sweep

import scala.collection.mutable.ArrayBuffer

import transom.engine.state.{StateReader, StateWriter}
import transom.engine.window.RowContext

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
