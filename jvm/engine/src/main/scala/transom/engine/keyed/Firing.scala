package transom.engine.keyed

import java.util.Arrays

import transom.engine.firing.EvictorLogic
import transom.engine.keyed.keystate.{Contents, EmittedResult, WindowState}
import transom.engine.time.Timeline
import transom.engine.window.{Arrival, TimeWindow}

/** Emits the results of windows that fire. */
private[keyed] final class Firing[R, A <: AnyRef](
    plan: KeyedPlan[R, A],
    contents: WindowContents[R, A],
    times: Contents[R],
    results: Results[R, A]) {
  import plan.{assigner, aggregation}

  private var emitted = 0L

  /** Number of results emitted so far. A retraction is part of the result that replaces it. */
  def count: Long = emitted

  /** Fires a window, unless it ends before the first output. */
  def fire(window: WindowState[A], firingContext: FiringContext): Iterator[Unit] =
    if (plan.emits(window.bounds)) emit(window, firingContext) else Steps.None

  private def emit(window: WindowState[A], firingContext: FiringContext): Iterator[Unit] = {
    val pane = paneOf(window, firingContext)
    if (plan.countsPanes) window.firings += 1
    val watermark = firingContext.watermark
    if (plan.retracts && !plan.evicts && !plan.emitsRows) emitIfChanged(window, pane, watermark)
    else {
      emitted += 1
      emitAll(window, pane, watermark)
    }
  }

  private def emitAll(window: WindowState[A], pane: PaneInfo, watermark: Long): Iterator[Unit] =
    if (plan.evicts) evict(window, pane, watermark)
    else if (plan.emitsRows) {
      results.emitRows(firingOf(pane, watermark, boundsOf(window)), contents.rows(window))
    } else {
      val accumulator = window.accumulatorBy(aggregation)
      Steps.one(results.emit(firingOf(pane, watermark, boundsOf(window)), accumulator))
    }

  /** Signals that the window is removed, if `emitsEnds` is set. */
  def end(window: WindowState[A], firingContext: FiringContext): Iterator[Unit] =
    if (plan.emitsEnds) {
      val ended =
        firingOf(paneOf(window, firingContext), firingContext.watermark, boundsOf(window))
      Steps.one(results.emitEnd(ended))
    } else Steps.None

  /** Applies the first evictor, emits the result, and applies the second evictor. The remaining
    * rows become the contents of the window (flink.md 7.2).
    */
  private def evict(window: WindowState[A], pane: PaneInfo, watermark: Long): Iterator[Unit] = {
    val all = contents.allRows(window)
    val before = plan.before.fold(EveryRow)(keep(_, all.toIndexedSeq))
    val positions = all.indices.filter(before)
    val kept = positions.map(all)
    val bounds = assigner.boundsOf(window.bounds, spanOf(kept))
    val fired = firingOf(pane, watermark, bounds)
    val emitted =
      if (plan.emitsRows) results.emitRows(fired, kept.iterator)
      else Steps.one(results.emit(fired, contents.accumulatorOf(kept)))
    Steps.andDo(emitted) {
      val after = plan.after.fold(EveryRow)(keep(_, kept))
      val left = positions.indices.filter(after).map(positions).toSet
      if (left.size < all.size) contents.retain(window, all.toIndexedSeq, left)
    }
  }

  private val EveryRow: Int => Boolean = _ => true

  private def keep(evictor: EvictorLogic[R, A], rows: IndexedSeq[R]): Int => Boolean =
    evictor.keep(
      rows,
      if (evictor.readsAccumulator) contents.accumulatorOf(rows) else null.asInstanceOf[A])

  /** Emits a changed result as an update: retracts the previous result, then emits the new one. A
    * result that equals the previous one is not emitted (flink.md 9.1). After a merge the results
    * of all source windows are retracted.
    */
  private def emitIfChanged(
      window: WindowState[A],
      pane: PaneInfo,
      watermark: Long): Iterator[Unit] = {
    val bounds = boundsOf(window)
    val result = aggregation.result(window.accumulatorBy(aggregation))
    val isRepeated = window.lastEmitted match {
      case List(before) => before.bounds == bounds && Arrays.equals(before.result, result)
      case _ => false
    }
    if (isRepeated) Steps.None
    else {
      emitted += 1
      val change = if (window.lastEmitted.isEmpty) Change.Insert else Change.UpdateAfter
      val retractions = window.lastEmitted.iterator.map { before =>
        val retracted = firingOf(pane, watermark, before.bounds)
        results.emitChange(retracted, Change.UpdateBefore, before.result)
      }
      window.lastEmitted = List(new EmittedResult(bounds, result))
      retractions ++
        Steps.one(results.emitChange(firingOf(pane, watermark, bounds), change, result))
    }
  }

  private def firingOf(pane: PaneInfo, watermark: Long, bounds: TimeWindow): FiredWindow =
    new FiredWindow(bounds.start, bounds.end, pane, watermark)

  private def boundsOf(window: WindowState[A]): TimeWindow =
    assigner.boundsOf(window.bounds, TimeWindow(window.firstTime, window.lastTime))

  private def spanOf(rows: Seq[R]): TimeWindow = {
    val known = rows.map(times.timeOf).filter(_ != Arrival.NoTime)
    if (known.isEmpty) TimeWindow(Arrival.NoTime, Arrival.NoTime)
    else TimeWindow(known.min, known.max)
  }

  private def paneOf(window: WindowState[A], firingContext: FiringContext): PaneInfo = {
    val end = assigner.endOf(window.bounds)
    val endsByClock = assigner.timeline == Timeline.Clock
    val isOwnTimer = firingContext.timer != FiringContext.NoTimer &&
      (firingContext.timeline == Timeline.Clock) == endsByClock
    val now = if (endsByClock) firingContext.clock else firingContext.watermark
    val at = if (isOwnTimer) firingContext.timer else now
    val timing =
      if (isOwnTimer && at == end) Timing.OnTime else if (at < end) Timing.Early else Timing.Late
    assigner.numberOf(window.bounds) match {
      case number @ Some(_) =>
        PaneInfo(0, Timing.OnTime, isLast = true, number, firingContext.cause)
      case None =>
        val cleanup = math.min(
          plan.cleanupOf(window.bounds),
          if (assigner.timeline == Timeline.Endless) Timeline.EndOfTime else Long.MaxValue)
        val isLast = isOwnTimer && firingContext.timer == cleanup
        PaneInfo(window.firings, timing, isLast, None, firingContext.cause)
    }
  }
}
