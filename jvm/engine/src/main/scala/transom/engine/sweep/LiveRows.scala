package transom.engine.sweep

import java.util.{Arrays, Comparator}

import scala.collection.mutable.ArrayBuffer

import transom.engine.keyed.RowCodec
import transom.engine.keyed.state.WindowAggregation
import transom.engine.state.{ByteRange, StateReader, StateWriter}
import transom.engine.window.Arrival

/** The live rows of a key: those whose lifetime contains the position of the sweep.
  *
  * New rows go to the back, which has one accumulator. When the first row of the back ends, the
  * rest of the back becomes a run, see [[LiveRun]]. Runs of similar size are merged, so there are
  * O(log n) runs, and a row is moved O(log n) times. Rows that end in the order of their starts
  * are moved once. No aggregate needs an inverse.
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

  /** The accumulator of the back; null if the back is empty. */
  private[sweep] var backAccumulator: Array[Byte] = _
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
    backAccumulator = null
    backEnd = Arrival.NoEnd
  }

  def write(out: StateWriter): Unit = {
    out.unsigned(runs.length)
    runs.foreach(_.write(out))
    LiveRows.writeRows(back.iterator, back.length, out)
    if (back.nonEmpty) out.array(backAccumulator)
    if (open != null) open.write(out)
  }
}

private[sweep] object LiveRows {

  def read(in: StateReader, hasEdges: Boolean): LiveRows = {
    val runs = Array.fill(in.unsigned().toInt)(LiveRun.read(in))
    val back = ArrayBuffer.empty[LifetimeRow]
    readRows(in)(back += _)
    val backAccumulator = if (back.nonEmpty) in.array() else null
    val rows = new LiveRows(if (hasEdges) new OpenRows else null)
    if (hasEdges) rows.open.read(in)
    rows.runs ++= runs
    rows.back ++= back
    back.foreach(row => rows.backEnd = math.min(rows.backEnd, row.end))
    rows.backAccumulator = backAccumulator
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

/** Changes and reads the live rows of any key. Holds buffers: not thread-safe.
  *
  * @param keepsAccumulators
  *   whether rows are aggregated; if not, only the rows themselves are read
  */
private[sweep] final class LiveRowAggregation[R, A <: AnyRef](
    aggregation: WindowAggregation[R, A],
    codec: RowCodec[R],
    keepsAccumulators: Boolean) {
  private val out = new StateWriter
  private val range = new ByteRange
  private val merged = ArrayBuffer.empty[LifetimeRow]
  private val byEnd: Ordering[LifetimeRow] =
    Ordering.comparatorToOrdering(Comparator.comparingLong[LifetimeRow](_.end))
  private val byStart: Ordering[LifetimeRow] =
    Ordering.comparatorToOrdering(Comparator.comparingLong[LifetimeRow](_.start))
  private val noAccumulator = Array.emptyByteArray
  private val openRows = new OpenRowAggregation(aggregation, codec)

  def add(live: LiveRows, row: LifetimeRow): Unit = {
    live.back += row
    live.backEnd = math.min(live.backEnd, row.end)
    live.backAccumulator = plus(live.backAccumulator, row)
  }

  /** Removes the rows whose lifetimes have ended at `position`. */
  def removeEnded(live: LiveRows, position: Long): Unit = {
    var i = 0
    while (i < live.runs.length) {
      val run = live.runs(i)
      while (run.first != null && run.first.end <= position) run.removeFirst()
      if (run.first == null) live.runs.remove(i): Unit else i += 1
    }
    if (live.backEnd <= position) flip(live, position)
    if (live.open != null) live.open.removeEnded(position)
  }

  /** Makes the rest of the back a run, together with the runs that are not much larger. */
  private def flip(live: LiveRows, position: Long): Unit = {
    merged.clear()
    live.back.foreach(row => if (row.end > position) merged += row)
    live.clearBack()
    if (merged.nonEmpty) {
      while (live.runs.nonEmpty && live.runs.last.size <= 2 * merged.length)
        live.runs.remove(live.runs.length - 1).copyTo(merged)
      merged.sortInPlace()(byEnd): Unit
      live.runs += LiveRun.of(merged, accumulators(merged), out)
    }
  }

  private def accumulators(rows: collection.IndexedSeq[LifetimeRow]): Array[Array[Byte]] = {
    val all = new Array[Array[Byte]](rows.length)
    var later: Array[Byte] = null
    var i = rows.length - 1
    while (i >= 0) {
      later = plus(later, rows(i))
      all(i) = later
      i -= 1
    }
    all
  }

  private def plus(accumulator: Array[Byte], row: LifetimeRow): Array[Byte] =
    if (!keepsAccumulators) noAccumulator
    else {
      val start =
        if (accumulator == null) aggregation.create()
        else aggregation.decode(accumulator, 0, accumulator.length)
      range.set(row.bytes, row.offset, row.length)
      val encoded = aggregation.encode(aggregation.add(start, codec.view(range)))
      Arrays.copyOfRange(encoded.bytes, encoded.offset, encoded.offset + encoded.length)
    }

  /** The accumulator of all live rows. Requires that there is a row. */
  def accumulatorOf(live: LiveRows): A = {
    var all: A = null.asInstanceOf[A]
    def include(part: A): Unit = all = if (all == null) part else aggregation.merge(all, part)
    live.runs.foreach(_.accumulated { (bytes, from, length) =>
      include(aggregation.decode(bytes, from, length))
    })
    if (live.back.nonEmpty)
      include(aggregation.decode(live.backAccumulator, 0, live.backAccumulator.length))
    if (live.open != null && !live.open.isEmpty) include(openRows.accumulatorOf(live.open))
    all
  }

  /** The live rows in order of their starts. */
  def rowsOf(live: LiveRows): Iterator[R] = {
    val rows = live.iterator.toArray.sorted(byStart)
    rows.iterator.map { row =>
      codec.decode(Arrays.copyOfRange(row.bytes, row.offset, row.offset + row.length))
    }
  }
}
