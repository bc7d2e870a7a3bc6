package transom.engine.sweep

import scala.collection.mutable.ArrayBuffer

import transom.engine.state.{StateReader, StateWriter}

/** Live rows of a key, sorted by the ends of their lifetimes, as bytes.
  *
  * Each entry also has the accumulator of its own row and all rows that end later. So the
  * accumulator of the first entry covers the whole run, and removing the first entry needs no
  * other work.
  *
  * {{{
  * entry   difference of the end to the end of the previous entry, length of the lifetime, row,
  *         accumulator of the rows from this one on
  * }}}
  *
  * Not thread-safe.
  *
  * @param count
  *   number of entries
  * @param previousEnd
  *   the end that precedes the first entry's end in `bytes`
  * @param from
  *   where the first entry starts in `bytes`
  */
private[sweep] final class LiveRun(
    bytes: Array[Byte],
    private var count: Int,
    private var previousEnd: Long,
    private var from: Int,
    until: Int) {
  private val in = new StateReader(bytes, from)
  private var head: LifetimeRow = _
  private var accumulatorFrom = 0
  private var accumulatorLength = 0
  read()

  def size: Int = count

  /** The row that ends first. Null if the run is empty. */
  def first: LifetimeRow = head

  /** Calls `use` with the range of the accumulator of all rows. Requires that there is a row. */
  def accumulated[T](use: (Array[Byte], Int, Int) => T): T =
    use(bytes, accumulatorFrom, accumulatorLength)

  /** Removes the first row. */
  def removeFirst(): Unit = {
    count -= 1
    previousEnd = head.end
    from = in.offset
    read()
  }

  /** Appends the rows in order of their ends. */
  def copyTo(rows: ArrayBuffer[LifetimeRow]): Unit = {
    val copy = new LiveRun(bytes, count, previousEnd, from, until)
    while (copy.first != null) {
      rows += copy.first
      copy.removeFirst()
    }
  }

  def write(out: StateWriter): Unit = {
    out.unsigned(count)
    out.signed(previousEnd)
    out.array(bytes, from, until - from)
  }

  private def read(): Unit =
    if (count == 0) head = null
    else {
      // Sums wrap around, so a lifetime without end needs no special case.
      val end = previousEnd + in.signed()
      val start = end - in.signed()
      val length = in.skipArray()
      head = new LifetimeRow(start, end, bytes, in.offset - length, length)
      accumulatorLength = in.skipArray()
      accumulatorFrom = in.offset - accumulatorLength
    }
}

private[sweep] object LiveRun {

  /** Builds a run.
    *
    * @param rows
    *   the rows, sorted by end; at least one
    * @param accumulators
    *   for each row, the accumulator of the row and all rows behind it
    */
  def of(
      rows: collection.IndexedSeq[LifetimeRow],
      accumulators: Array[Array[Byte]],
      out: StateWriter): LiveRun = {
    var previous = 0L
    var i = 0
    while (i < rows.length) {
      val row = rows(i)
      out.signed(row.end - previous)
      out.signed(row.end - row.start)
      out.array(row.bytes, row.offset, row.length)
      out.array(accumulators(i))
      previous = row.end
      i += 1
    }
    val bytes = out.take()
    new LiveRun(bytes, rows.length, 0L, 0, bytes.length)
  }

  def read(in: StateReader): LiveRun = {
    val count = in.unsigned().toInt
    val previousEnd = in.signed()
    val length = in.skipArray()
    new LiveRun(in.bytes, count, previousEnd, in.offset - length, in.offset)
  }
}
