package transom.engine.sweep

import java.util.{Arrays, Comparator}

import scala.collection.mutable.ArrayBuffer

import transom.engine.keyed.contract.{FiredWindow, Results, RowCodec, WindowAggregation}
import transom.engine.state.{ByteRange, StateWriter}

/** Changes and reads the live rows of any key. Holds buffers: not thread-safe.
  *
  * An accumulator may be as large as all of its rows: a list, or a set. To store one for each row
  * would then take space and time that grow with the square of the rows. So a large accumulator
  * is stored only after rows of a quarter of its size. A result adds the rows between again.
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
    live.back.add(row)
    if (keepsAccumulators) {
      live.addedSize += row.length
      if (isDue(live.addedSize, live.backAccumulator.length)) {
        live.backAccumulator = bytesOf(backOf(live))
        live.accumulated = live.back.length
        live.addedSize = 0
      }
    }
  }

  /** Removes the rows whose lifetimes have ended at `position`. */
  def removeEnded(live: LiveRows, position: Long): Unit = {
    var i = 0
    while (i < live.runs.length) {
      val run = live.runs(i)
      while (run.firstEnd <= position) {
        noteLeft(live, run.first)
        run.removeFirst()
      }
      if (run.size > 0) i += 1
      else {
        run.removeEntries()
        live.runs.remove(i): Unit
      }
    }
    if (live.back.firstEnd <= position) flip(live, position)
    if (live.open != null) live.open.removeEnded(position)(noteLeft(live, _))
  }

  /** Makes the rest of the back a run, together with the runs that are not much larger. */
  private def flip(live: LiveRows, position: Long): Unit = {
    merged.clear()
    live.back.foreach(0)(row => if (row.end > position) merged += row else noteLeft(live, row))
    live.clearBack()
    if (merged.nonEmpty) {
      while (live.runs.nonEmpty && live.runs.last.size <= 2 * merged.length) {
        val run = live.runs.remove(live.runs.length - 1)
        merged ++= run.iterator
        run.removeEntries()
      }
      merged.sortInPlace()(byEnd): Unit
      live.runs += LiveRun.of(merged, accumulators(merged), out, live.store)
      merged.clear()
    }
  }

  private def accumulators(rows: collection.IndexedSeq[LifetimeRow]): Array[Array[Byte]] = {
    val all = Array.fill(rows.length)(noAccumulator)
    if (keepsAccumulators) {
      var later = aggregation.create()
      var stored = noAccumulator
      var addedSize = 0
      var i = rows.length - 1
      while (i >= 0) {
        later = plus(later, rows(i))
        addedSize += rows(i).length
        if (isDue(addedSize, stored.length)) {
          stored = bytesOf(later)
          all(i) = stored
          addedSize = 0
          later = aggregation.decode(stored, 0, stored.length)
        }
        i -= 1
      }
    }
    all
  }

  /** Whether to store an accumulator.
    *
    * @param addedSize
    *   the size of the rows that the last stored accumulator does not cover
    * @param storedSize
    *   the size of this accumulator
    */
  private def isDue(addedSize: Int, storedSize: Int): Boolean =
    storedSize <= LiveRowAggregation.SmallSize || 4L * addedSize >= storedSize

  private def plus(accumulator: A, row: LifetimeRow): A = {
    range.set(row.bytes, row.offset, row.length)
    aggregation.add(accumulator, codec.view(range))
  }

  private def bytesOf(accumulator: A): Array[Byte] = {
    val encoded = aggregation.encode(accumulator)
    Arrays.copyOfRange(encoded.bytes, encoded.offset, encoded.offset + encoded.length)
  }

  private def backOf(live: LiveRows): A = {
    var all =
      if (live.accumulated == 0) aggregation.create()
      else aggregation.decode(live.backAccumulator, 0, live.backAccumulator.length)
    live.back.foreach(live.accumulated)(row => all = plus(all, row))
    all
  }

  /** The accumulator of all live rows. Requires that there is a row. */
  def accumulatorOf(live: LiveRows): A = {
    var all: A = null.asInstanceOf[A]
    def include(part: A): Unit = all = if (all == null) part else aggregation.merge(all, part)
    live.runs.foreach { run =>
      var rest = run
      if (!run.isAccumulated) {
        rest = run.copy
        var first = aggregation.create()
        while (!rest.isAccumulated) {
          first = plus(first, rest.first)
          rest.removeFirst()
        }
        include(first)
      }
      rest.accumulated((bytes, from, length) => include(aggregation.decode(bytes, from, length)))
    }
    if (!live.back.isEmpty) include(backOf(live))
    if (live.open != null && !live.open.isEmpty) include(openRows.accumulatorOf(live.open))
    all
  }

  /** The live rows in order of their starts. */
  def rowsOf(live: LiveRows): Iterator[R] = decoded(live.iterator.toArray.sorted(byStart))

  private def decoded(rows: Iterable[LifetimeRow]): Iterator[R] = rows.iterator.map { row =>
    codec.decode(row.bytes, row.offset, row.length)
  }

  // The rows that the key of the last result has gained and lost since then.
  private var changing: LiveRows = _
  private val entered = ArrayBuffer.empty[LifetimeRow]
  private val left = ArrayBuffer.empty[LifetimeRow]

  /** Notes that a row has become live. */
  def noteEntered(live: LiveRows, row: LifetimeRow): Unit =
    if (live eq changing) entered += row: Unit

  /** Notes that a row is live no more. */
  def noteLeft(live: LiveRows, row: LifetimeRow): Unit =
    if (live eq changing) left += row: Unit

  /** Builds the result of the live rows. Requires that there is a row. */
  def result[T](live: LiveRows, window: FiredWindow, results: Results[R, A, T]): T =
    if (!results.takesChanges) results.result(window, accumulatorOf(live))
    else {
      val (gained, lost) =
        if (live eq changing) (decoded(entered), Some(decoded(left)))
        else (rowsOf(live), None)
      val result = results.changedResult(window, accumulatorOf(live), gained, lost)
      changing = live
      entered.clear()
      left.clear()
      result
    }
}

private[sweep] object LiveRowAggregation {

  /** The size up to which each row stores its accumulator, in bytes. */
  private final val SmallSize = 256
}
