package transom.engine.keyed

import java.util.Arrays

import transom.engine.firing.EvictorLogic
import transom.engine.keyed.contract._
import transom.engine.keyed.keystate.{EmittedResult, WindowState}
import transom.engine.runtime.Pulled
import transom.engine.time.Timeline
import transom.engine.window.{RowContext, TimeWindow}

/** Computes the results of windows that fire. Also holds why they fire, and the watermark and
  * wall-clock time of the firing.
  */
private[keyed] final class Firing[R, A <: AnyRef, T](
    plan: KeyedPlan[R, A],
    data: WindowData[R, A],
    store: RowStore[R],
    results: Results[R, A, T]) {
  import plan.{assigner, aggregation}

  private var cause: Cause = Cause.Rows
  private var watermark = Long.MinValue
  private var clock = Long.MinValue
  // The due timer that causes the firing. The timeline is valid only with a timer.
  private var timer = Firing.NoTimer
  private var timeline: Timeline = Timeline.Event
  private var emitted = 0L

  /** The watermark without the idle timeout. Only the idle timeout causes later timers. */
  var watermarkByRows: Long = Long.MaxValue

  /** Starts a firing that no timer causes. */
  def start(cause: Cause, watermark: Long, clock: Long): this.type = {
    this.cause = cause
    this.watermark = watermark
    this.clock = clock
    timer = Firing.NoTimer
    this
  }

  /** Adds the due timer and derives the cause from it. Call `start` first. */
  def setTimer(timeline: Timeline, timer: Long): Unit = {
    this.timeline = timeline
    this.timer = timer
    cause =
      if (watermark >= Timeline.EndOfTime) Cause.Drain
      else if (timeline == Timeline.Clock) Cause.Clock
      else if (timer > watermarkByRows) Cause.Idle
      else Cause.Watermark
  }

  /** Number of results emitted so far. A retraction is part of the result that replaces it. */
  def count: Long = emitted

  /** Fires a window, unless it ends before the first output. */
  def fire(window: WindowState[A]): Iterator[T] =
    if (plan.emits(window.bounds)) emit(window) else Pulled.none

  private def emit(window: WindowState[A]): Iterator[T] = {
    val pane = paneOf(window)
    if (plan.countsPanes) window.firings += 1
    if (plan.retracts && !plan.evicts && !plan.emitsRows) emitIfChanged(window, pane)
    else {
      emitted += 1
      emitAll(window, pane)
    }
  }

  private def emitAll(window: WindowState[A], pane: PaneInfo): Iterator[T] =
    if (plan.evicts) evict(window, pane)
    else if (plan.emitsRows) {
      results.ofRows(firingOf(pane, boundsOf(window)), data.rows(window))
    } else {
      val accumulator = window.accumulatorBy(aggregation)
      Pulled.one(results.result(firingOf(pane, boundsOf(window)), accumulator))
    }

  /** Reports that the window is removed, if `reportsGone` is set. */
  def gone(window: WindowState[A]): Iterator[T] =
    if (plan.reportsGone) {
      val pane = paneOf(window)
      val last = firingOf(pane, boundsOf(window))
      Pulled.one(results.windowGone(last))
    } else Pulled.none

  /** Applies the first evictor, emits the result, and applies the second evictor. The remaining
    * rows become the data of the window (flink.md 7.2).
    */
  private def evict(window: WindowState[A], pane: PaneInfo): Iterator[T] = {
    val all = data.allRows(window)
    val before = plan.before.fold(EveryRow)(keep(_, all.toIndexedSeq))
    val positions = all.indices.filter(before)
    val kept = positions.map(all)
    val bounds = assigner.boundsOf(window.bounds, spanOf(kept))
    val fired = firingOf(pane, bounds)
    val emitted =
      if (plan.emitsRows) results.ofRows(fired, kept.iterator)
      else Pulled.one(results.result(fired, data.accumulatorOf(kept)))
    Pulled.andDo(emitted) {
      val after = plan.after.fold(EveryRow)(keep(_, kept))
      val left = positions.indices.filter(after).map(positions).toSet
      if (left.size < all.size) data.retain(window, all.toIndexedSeq, left)
    }
  }

  private val EveryRow: Int => Boolean = _ => true

  private def keep(evictor: EvictorLogic[R, A], rows: IndexedSeq[R]): Int => Boolean =
    evictor.keep(
      rows,
      if (evictor.readsAccumulator) data.accumulatorOf(rows) else null.asInstanceOf[A])

  /** Emits a changed result as an update: retracts the previous result, then emits the new one. A
    * result that equals the previous one is not emitted (flink.md 9.1). After a merge the results
    * of all source windows are retracted.
    */
  private def emitIfChanged(window: WindowState[A], pane: PaneInfo): Iterator[T] = {
    val bounds = boundsOf(window)
    val result = aggregation.result(window.accumulatorBy(aggregation))
    val isRepeated = window.lastEmitted match {
      case List(before) => before.bounds == bounds && Arrays.equals(before.result, result)
      case _ => false
    }
    if (isRepeated) Pulled.none
    else {
      emitted += 1
      val change = if (window.lastEmitted.isEmpty) Change.Insert else Change.UpdateAfter
      val retractions = window.lastEmitted.iterator.map { before =>
        val retracted = firingOf(pane, before.bounds)
        results.change(retracted, Change.UpdateBefore, before.result)
      }
      window.lastEmitted = List(new EmittedResult(bounds, result))
      retractions ++
        Pulled.one(results.change(firingOf(pane, bounds), change, result))
    }
  }

  private def firingOf(pane: PaneInfo, bounds: TimeWindow): FiredWindow =
    new FiredWindow(bounds.start, bounds.end, pane, watermark)

  private def boundsOf(window: WindowState[A]): TimeWindow =
    assigner.boundsOf(window.bounds, TimeWindow(window.firstTime, window.lastTime))

  private def spanOf(rows: Seq[R]): TimeWindow = {
    val known = rows.map(store.timeOf).filter(_ != RowContext.NoTime)
    if (known.isEmpty) TimeWindow(RowContext.NoTime, RowContext.NoTime)
    else TimeWindow(known.min, known.max)
  }

  private def paneOf(window: WindowState[A]): PaneInfo = {
    val end = assigner.endOf(window.bounds)
    val endsByClock = assigner.timeline == Timeline.Clock
    val isOwnTimer = timer != Firing.NoTimer &&
      (timeline == Timeline.Clock) == endsByClock
    val now = if (endsByClock) clock else watermark
    val at = if (isOwnTimer) timer else now
    val timing =
      if (isOwnTimer && at == end) Timing.OnTime else if (at < end) Timing.Early else Timing.Late
    assigner.numberOf(window.bounds) match {
      case number @ Some(_) =>
        PaneInfo(0, Timing.OnTime, isLast = true, number, cause)
      case None =>
        val cleanup = math.min(
          plan.cleanupOf(window.bounds),
          if (assigner.timeline == Timeline.Endless) Timeline.EndOfTime else Long.MaxValue)
        val isLast = isOwnTimer && timer == cleanup
        PaneInfo(window.firings, timing, isLast, None, cause)
    }
  }
}

private object Firing {

  /** Value of `timer` if no timer causes the firing. */
  private final val NoTimer = Long.MinValue
}
