package transom.engine.keyed

import scala.collection.mutable.ArrayBuffer

import transom.engine.keyed.contract.RowStore
import transom.engine.keyed.keystate.{KeyState, RowRuns, WindowState}

/** Changes and reads the data of windows: accumulators, raw rows, or both. */
private[keyed] final class WindowData[R, A <: AnyRef](plan: KeyedPlan[R, A], store: RowStore[R]) {
  import plan.{aggregation, keepsAccumulators, keepsRows}

  def isEmpty(window: WindowState[A]): Boolean =
    if (keepsRows) window.rows == null || window.rows.isEmpty else !window.hasAccumulator

  /** Adds a row to the data of a window.
    *
    * @param time
    *   event time of the row, or `RowContext.NoTime`
    */
  def add(state: KeyState[A], window: WindowState[A], row: R, time: Long): Unit = {
    // The bounds of such windows are the times of their rows. A window that does not keep its
    // rows must keep their first and last time.
    if (plan.assigner.boundsFromRows && !keepsRows) window.noteRow(time)
    if (keepsAccumulators) {
      val accumulator = window.accumulatorBy(aggregation)
      window.setAccumulator(
        aggregation.add(if (accumulator == null) aggregation.create() else accumulator, row))
    }
    if (keepsRows) {
      if (window.rows == null) {
        window.rows = new RowRuns(state.nextList)
        state.nextList += 1
      }
      store.put(window.rows.list, window.rows.grow(), row)
    }
  }

  /** Moves the data of `sources`, in their order, into an empty window. Raw rows are not copied.
    */
  def merge(sources: collection.Seq[WindowState[A]], window: WindowState[A]): Unit =
    sources.foreach { source =>
      val from = source.accumulatorBy(aggregation)
      if (from != null) {
        val into = window.accumulatorBy(aggregation)
        window.setAccumulator(if (into == null) from else aggregation.merge(into, from))
      }
      if (source.rows != null) {
        if (window.rows == null) window.rows = source.rows else window.rows.join(source.rows)
      }
    }

  def clear(window: WindowState[A]): Unit = {
    window.setAccumulator(null.asInstanceOf[A])
    if (window.rows != null) {
      window.rows.positions.foreach { case (list, position) => store.remove(list, position) }
      window.rows.runs.clear()
    }
  }

  def rows(window: WindowState[A]): Iterator[R] =
    window.rows.positions.map { case (list, position) => store.get(list, position) }

  /** Aggregates rows into a new accumulator. */
  def accumulatorOf(rows: IterableOnce[R]): A =
    rows.iterator.foldLeft(aggregation.create())(aggregation.add)

  /** Removes the rows whose position does not satisfy `keep`, and recomputes the accumulator. */
  def retain(window: WindowState[A], rows: IndexedSeq[R], keep: Int => Boolean): Unit = {
    window.rows.positions.zipWithIndex.foreach { case ((list, position), i) =>
      if (!keep(i)) store.remove(list, position)
    }
    window.rows.retain(keep)
    if (keepsAccumulators && window.rows.size < rows.length) {
      val left = rows.indices.filter(keep)
      window.setAccumulator(
        if (left.isEmpty) null.asInstanceOf[A] else accumulatorOf(left.iterator.map(rows)))
    }
  }

  /** All rows of a window at once, for evictors. */
  def allRows(window: WindowState[A]): ArrayBuffer[R] = ArrayBuffer.from(rows(window))
}
