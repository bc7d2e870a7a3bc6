package transom.engine.sweep

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import transom.engine.state.{StateReader, StateWriter}

/** Live rows of a key, sorted by the ends of their lifetimes, as bytes.
  *
  * An entry may also have the accumulator of its own row and all rows that end later. So removing
  * the first entry needs no other work. The last entry has one, and each entry if accumulators
  * are small. See [[LiveRowAggregation]].
  *
  * {{{
  * entry   difference of the end to the end of the previous entry, length of the lifetime, row,
  *         accumulator of the rows from this one on, empty if there is none
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

  /** Whether the first row has an accumulator. */
  def isAccumulated: Boolean = accumulatorLength > 0

  /** Calls `use` with the range of the accumulator of all rows. Requires `isAccumulated`. */
  def accumulated[T](use: (Array[Byte], Int, Int) => T): T =
    use(bytes, accumulatorFrom, accumulatorLength)

  /** Removes the first row. */
  def removeFirst(): Unit = {
    count -= 1
    previousEnd = head.end
    from = in.offset
    read()
  }

  /** A run of the same rows, which changes on its own. */
  def copy: LiveRun = new LiveRun(bytes, count, previousEnd, from, until)

  /** Appends the rows in order of their ends. */
  def copyTo(rows: ArrayBuffer[LifetimeRow]): Unit = {
    val rest = copy
    while (rest.first != null) {
      rows += rest.first
      rest.removeFirst()
    }
  }

  /** A run of the converted rows; this run if `convert` returns the rows unchanged. */
  def converted(convert: LifetimeRow => LifetimeRow): LiveRun =
    if (head == null || (convert(head) eq head)) this
    else {
      val rows = ArrayBuffer.empty[LifetimeRow]
      val accumulators = ArrayBuffer.empty[Array[Byte]]
      val rest = copy
      while (rest.first != null) {
        rows += convert(rest.first)
        accumulators += rest.ownAccumulator
        rest.removeFirst()
      }
      LiveRun.of(rows, accumulators.toArray, new StateWriter)
    }

  private def ownAccumulator: Array[Byte] =
    Arrays.copyOfRange(bytes, accumulatorFrom, accumulatorFrom + accumulatorLength)

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
    *   for each row, the accumulator of the row and all rows behind it, or an empty array
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
