package transom.engine.sweep

import scala.collection.mutable.ArrayBuffer

import transom.engine.state.{StateReader, StateWriter}
import transom.engine.window.Arrival

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
  * @param open
  *   the rows that wait for the row with their end; null if the spec has no edges
  */
private[sweep] final class LiveRows(val open: OpenRows) {
  private[sweep] val runs = ArrayBuffer.empty[LiveRun]
  private[sweep] val back = ArrayBuffer.empty[LifetimeRow]

  /** The accumulator of the first rows of the back, their number, and the size of the others. */
  private[sweep] var backAccumulator: Array[Byte] = Array.emptyByteArray
  private[sweep] var accumulated = 0
  private[sweep] var addedSize = 0
  private[sweep] var backEnd = Arrival.NoEnd

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

  /** The first end; `Arrival.NoEnd` if no lifetime has an end. */
  def firstEnd: Long = {
    var end = if (open == null) backEnd else math.min(backEnd, open.firstEnd)
    var i = 0
    while (i < runs.length) {
      end = math.min(end, runs(i).first.end)
      i += 1
    }
    end
  }

  /** The first start. Requires that there are rows, and that rows end in the order in which they
    * start.
    */
  def firstStart: Long =
    if (runs.isEmpty) back.head.start else runs.minBy(_.first.end).first.start

  /** The rows in no particular order. */
  def iterator: Iterator[LifetimeRow] = {
    val rows = ArrayBuffer.empty[LifetimeRow]
    runs.foreach(_.copyTo(rows))
    rows.iterator ++ back.iterator ++ (if (open == null) Iterator.empty else open.iterator)
  }

  def clear(): Unit = {
    runs.clear()
    clearBack()
    if (open != null) open.clear()
  }

  private[sweep] def clearBack(): Unit = {
    back.clear()
    backAccumulator = Array.emptyByteArray
    accumulated = 0
    addedSize = 0
    backEnd = Arrival.NoEnd
  }

  def write(out: StateWriter): Unit = {
    out.unsigned(runs.length)
    runs.foreach(_.write(out))
    LiveRows.writeRows(back.iterator, back.length, out)
    out.unsigned(accumulated)
    if (accumulated > 0) out.array(backAccumulator)
    if (open != null) open.write(out)
  }
}

private[sweep] object LiveRows {

  /** Reads what `write` has written.
    *
    * @param convert
    *   returns a row in the layout of this run, or the same row
    */
  def read(in: StateReader, hasEdges: Boolean, convert: LifetimeRow => LifetimeRow): LiveRows = {
    val runs = Array.fill(in.unsigned().toInt)(LiveRun.read(in).converted(convert))
    val back = ArrayBuffer.empty[LifetimeRow]
    readRows(in)(back += convert(_))
    val rows = new LiveRows(if (hasEdges) new OpenRows else null)
    rows.accumulated = in.unsigned().toInt
    if (rows.accumulated > 0) rows.backAccumulator = in.array()
    if (hasEdges) rows.open.read(in, convert)
    rows.runs ++= runs
    rows.back ++= back
    back.foreach(row => rows.backEnd = math.min(rows.backEnd, row.end))
    rows.addedSize = back.iterator.drop(rows.accumulated).map(_.length).sum
    rows
  }

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
  def readRows(in: StateReader)(use: LifetimeRow => Unit): Unit = {
    var left = in.unsigned()
    var start = 0L
    while (left > 0) {
      val row = readRow(in, start)
      start = row.start
      use(row)
      left -= 1
    }
  }
}
