package transom.engine.sweep

import scala.collection.mutable.ArrayBuffer

import transom.engine.state.{StateReader, StateWriter}

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
