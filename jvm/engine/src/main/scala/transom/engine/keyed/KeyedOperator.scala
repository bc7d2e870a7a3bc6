package transom.engine.keyed

import java.util.{Arrays, PriorityQueue}

import scala.collection.{mutable, View}
import scala.collection.mutable.ArrayBuffer

import transom.engine.firing.{TriggerContext, TriggerMemory, TriggerResult}
import transom.engine.keyed.contract._
import transom.engine.keyed.keystate.{KeyState, WindowState}
import transom.engine.runtime.{Pulled, PulledLoop}
import transom.engine.time.{Ticks, Timeline}
import transom.engine.window._

/** Window operator of windows whose bounds are known when a row is added. Follows Flink's
  * `WindowOperator`. Holds mutable caches: not thread-safe.
  *
  * @param rows
  *   stores the raw rows of the current key
  * @param results
  *   builds the results of the current key
  */
final class KeyedOperator[R, A <: AnyRef, T](
    plan: KeyedPlan[R, A],
    rows: RowStore[R],
    results: Results[R, A, T])
    extends PerKeyOperator[R, KeyState[A], T] {
  import plan.{assigner, trigger}

  private val data = new WindowData(plan, rows)
  private val firing = new Firing(plan, data, rows, results)
  private val context = new WindowContext(plan, rows)
  private val assigned = ArrayBuffer.empty[TimeWindow]
  private val missed = ArrayBuffer.empty[TimeWindow]
  // The watermark by which the row is late.
  private var lateBy = Long.MinValue
  // The closed windows of the row that `assigned` leaves out.
  private var closed: View[TimeWindow] = View.empty
  // Empty except while timers run.
  private val expired = new PriorityQueue[ExpiredTimer[A]]

  /** Adds a row to its windows and runs the triggers. Windows that have passed their cleanup time
    * do not get the row.
    */
  override def process(state: KeyState[A], row: R, rowContext: RowContext): Iterator[T] = {
    assigned.clear()
    missed.clear()
    closed =
      assigner.assignOpen(rowContext, state.rowCount, closedBy(state, rowContext), assigned)
    lateBy = rowContext.watermark
    context.open(state, rowContext.reached, rowContext.clock)
    context.setRow(row, rowContext)
    addTo(0, state, row, rowContext)
  }

  /** The end up to which no window is open and no window can open. */
  private def closedBy(state: KeyState[A], rowContext: RowContext): Long =
    if (assigner.timeline != Timeline.Event) Long.MinValue
    else {
      val closed = Ticks.subtract(rowContext.watermark, plan.allowedLateness)
      // A row may have opened a window by an earlier watermark than the key has reached.
      val isOpen =
        !state.windows.isEmpty && assigner.endOf(state.windows.firstKey) <= closed
      if (isOpen) Long.MinValue else closed
    }

  /** Adds a row to the assigned windows from number `from` on. */
  private def addTo(
      from: Int,
      state: KeyState[A],
      row: R,
      rowContext: RowContext): Iterator[T] = {
    var i = from
    var results: Iterator[T] = Pulled.none
    while (i < assigned.length && (results eq Pulled.none)) {
      val bounds = assigned(i)
      val window = if (assigner.isMerging) join(state, bounds) else find(state, bounds)
      if (window == null) missed += bounds else results = addRow(state, window, row, rowContext)
      i += 1
    }
    if (results eq Pulled.none) {
      // The `pane` column numbers the windows of a key, so the count must never restart.
      val isIdle = !plan.countsPanes && state.windows.isEmpty
      state.rowCount = assigner.countRow(state.rowCount, isIdle)
      results
    } else {
      val next = i
      results ++ addTo(next, state, row, rowContext)
    }
  }

  override def outcome: RowOutcome =
    if (missed.isEmpty && closed.isEmpty)
      if (assigned.isEmpty) RowOutcome.NoWindow else RowOutcome.Added
    else if (missed.length < assigned.length) RowOutcome.PartlyLate
    else RowOutcome.Late

  override def missedWindows: MissedWindows =
    if (closed.isEmpty) MissedWindows.inAnyOrder(missed.iterator.map(assigner.instantsOf))
    else MissedWindows.inOrder(closed.iterator)

  override def lastMissedEnd: Long = missed.iterator.map(assigner.endOf).max

  /** Runs the timers that are due, and removes windows that reach their cleanup time. Timers run
    * only on a timeline whose time moves forward.
    */
  override def advance(
      state: KeyState[A],
      watermark: Long,
      clock: Long,
      watermarkByRows: Long): Iterator[T] = {
    firing.watermarkByRows = watermarkByRows
    Pulled.andThen(advanceWatermark(state, watermark, clock)) {
      Pulled.andThen(advanceClock(state, clock)) {
        if (watermark >= Timeline.EndOfTime) end(state, watermark, clock) else Pulled.none
      }
    }
  }

  private def advanceWatermark(state: KeyState[A], watermark: Long, clock: Long): Iterator[T] =
    if (watermark <= state.watermark) Pulled.none
    else {
      state.watermark = watermark
      if (watermark < state.watermarkBound) Pulled.none
      else runTimers(state, Timeline.Event, watermark, watermark, clock)
    }

  private def advanceClock(state: KeyState[A], clock: Long): Iterator[T] =
    if (clock <= state.clock) Pulled.none
    else {
      state.clock = clock
      // A tick may come without a watermark. The key keeps the one that it has reached.
      if (clock < state.clockBound) Pulled.none
      else runTimers(state, Timeline.Clock, clock, state.watermark, clock)
    }

  override def fired: Long = firing.count

  override def noteOpen(state: KeyState[A], closings: mutable.Map[Long, Long]): Unit =
    if (assigner.isInstanceOf[GridAssigner] && !state.windows.isEmpty)
      Seq(state.windows.firstKey, state.windows.lastKey).foreach { window =>
        val start = assigner.startOf(window)
        // Windows of a cycle have the same start.
        val closing = math.max(plan.cleanupOf(window), closings.getOrElse(start, Long.MinValue))
        closings.update(start, closing)
      }

  override def seesBatches: Boolean = trigger.seesBatches

  /** Signals the end of a micro-batch to the triggers of all windows of the key. Triggers act
    * only on windows that had rows in the batch.
    */
  override def endBatch(state: KeyState[A], watermark: Long, clock: Long): Iterator[T] = {
    // The key has met its own watermark. Windows that end later have not fired at their end.
    val met = math.max(watermark, state.watermark)
    context.open(state, met, clock)
    firing.start(Cause.Batch, met, clock)
    state.windows.values.toArray(Array.empty[WindowState[A]]).iterator.flatMap { window =>
      Pulled.andDo(handle(trigger.onBatchEnd(context.pointAt(window)), window)) {
        if (window.isIdle) state.remove(window)
      }
    }
  }

  private def find(state: KeyState[A], bounds: TimeWindow): WindowState[A] = {
    val latest = state.latest
    // The source of the row may be ahead of the watermark by which the window will fire.
    if (lateBy > context.watermark && !canOpen(bounds)) null
    else if (latest != null && latest.bounds == bounds) latest
    else {
      val found = state.windows.get(bounds)
      if (found != null) state.latest = found
      if (found != null || !canOpen(bounds)) found else open(state, bounds)
    }
  }

  /** Finds, merges or opens the window that contains `ofRow`, the window of a single row. Returns
    * null if `ofRow` is late. A window that meets an open window is never late (flink.md 6.5).
    */
  private def join(state: KeyState[A], ofRow: TimeWindow): WindowState[A] = {
    val latest = state.latest
    if (latest != null && latest.bounds.contains(ofRow)) latest
    else {
      val target = MergingWindows.targetOf(state.windows, ofRow, assigner.isInclusive)
      if (target.sources.isEmpty) if (canOpen(ofRow)) open(state, ofRow) else null
      else if (target.isMerge) merge(state, target.sources, target.bounds)
      else target.sources.head
    }
  }

  private def merge(
      state: KeyState[A],
      sources: collection.Seq[WindowState[A]],
      bounds: TimeWindow): WindowState[A] = {
    sources.foreach(state.remove)
    val merged = open(state, bounds)
    data.merge(sources, merged)
    merged.firings = sources.iterator.map(_.firings).sum
    merged.lastEmitted = sources.iterator.flatMap(_.lastEmitted).toList
    trigger.onMerge(sources.iterator.map(new MergedMemory(_)).toVector, context.pointAt(merged))
    merged
  }

  private def open(state: KeyState[A], bounds: TimeWindow): WindowState[A] = {
    val window = new WindowState[A](bounds)
    state.add(window)
    window
  }

  private def canOpen(bounds: TimeWindow): Boolean =
    assigner.timeline != Timeline.Event ||
      plan.cleanupOf(bounds) > lateBy && assigner.canOpen(bounds, lateBy)

  private def addRow(
      state: KeyState[A],
      window: WindowState[A],
      row: R,
      rowContext: RowContext): Iterator[T] = {
    data.add(state, window, row, rowContext.time)
    val result = trigger.onRow(context.pointAt(window))
    if (result eq TriggerResult.Continue) {
      addCleanup(window)
      Pulled.none
    } else {
      firing.start(Cause.Rows, rowContext.reached, rowContext.clock)
      Pulled.andThen(handle(result, window)) {
        addCleanup(window)
        if (result.purges && assigner.endsWhenPurged) forget(state, window)
        else {
          if (result.purges && window.isIdle) state.remove(window)
          Pulled.none
        }
      }
    }
  }

  private def addCleanup(window: WindowState[A]): Unit = {
    val cleanup = plan.cleanupOf(window.bounds)
    if (cleanup != Long.MaxValue) context.addTimer(assigner.timeline, cleanup)
  }

  private def handle(result: TriggerResult, window: WindowState[A]): Iterator[T] = {
    val fired =
      if (result.fires && !data.isEmpty(window)) firing.fire(window)
      else Pulled.none
    if (result.purges) Pulled.andDo(fired)(data.clear(window)) else fired
  }

  /** Runs the timers of one timeline in ascending order up to `until`. Timers that are set
    * meanwhile run too if they are due.
    */
  private def runTimers(
      state: KeyState[A],
      timeline: Timeline,
      until: Long,
      watermark: Long,
      clock: Long): Iterator[T] = {
    val windows = state.windows.values.iterator
    while (windows.hasNext) enqueue(windows.next(), timeline, until)
    context.open(state, watermark, clock)
    new PulledLoop[T] {
      override protected def continues: Boolean = !expired.isEmpty
      override protected def turn(): Iterator[T] = {
        val next = expired.poll()
        firing.start(Cause.Rows, watermark, clock).setTimer(timeline, next.timer)
        Pulled.andDo(runTimer(state, next.window, timeline, next.timer)) {
          if (state.windows.get(next.window.bounds) eq next.window)
            enqueue(next.window, timeline, until)
        }
      }
      override protected def finish(): Unit = state.refreshBound(timeline)
    }
  }

  private def enqueue(window: WindowState[A], timeline: Timeline, until: Long): Unit = {
    val timers = window.timers(timeline)
    if (!timers.isEmpty && timers.first <= until)
      expired.add(new ExpiredTimer(timers.first, window)): Unit
  }

  private def runTimer(
      state: KeyState[A],
      window: WindowState[A],
      timeline: Timeline,
      timer: Long): Iterator[T] = {
    window.timers(timeline).remove(timer)
    val isCleanup = timeline == assigner.timeline && timer == plan.cleanupOf(window.bounds)
    // The trigger runs before the cleanup and may fire one last time (flink.md 3.5), unless it
    // has removed its timer (flink.md 5.8).
    val handled =
      if (isCleanup && window.endsSilently) Pulled.none
      else handle(trigger.onTimer(timeline, timer, context.pointAt(window)), window)
    Pulled.andThen(handled) {
      if (isCleanup) forget(state, window)
      else {
        if (window.isIdle) state.remove(window)
        Pulled.none
      }
    }
  }

  private def forget(state: KeyState[A], window: WindowState[A]): Iterator[T] =
    Pulled.andDo(firing.gone(window)) {
      data.clear(window)
      trigger.clear(context.pointAt(window))
      state.remove(window)
    }

  /** Removes windows when the input ends. Windows of `Timeline.Endless` live until then. A
    * watermark of `Long.MaxValue` also removes all other windows.
    */
  private def end(state: KeyState[A], watermark: Long, clock: Long): Iterator[T] =
    if (watermark == Long.MaxValue || assigner.timeline == Timeline.Endless) {
      context.open(state, watermark, clock)
      firing.start(Cause.Drain, watermark, clock)
      new PulledLoop[T] {
        override protected def continues: Boolean = !state.windows.isEmpty
        override protected def turn(): Iterator[T] =
          forget(state, state.windows.firstEntry.getValue)
        override protected def finish(): Unit = {
          state.rowCount = 0L
          state.refreshBound(Timeline.Event)
          state.refreshBound(Timeline.Clock)
        }
      }
    } else Pulled.none
}

/** A due timer and its window, ordered by time and then by the bounds of the window. */
private final class ExpiredTimer[A <: AnyRef](val timer: Long, val window: WindowState[A])
    extends Comparable[ExpiredTimer[A]] {

  override def compareTo(other: ExpiredTimer[A]): Int = {
    val order = java.lang.Long.compare(timer, other.timer)
    if (order != 0) order else KeyState.ByBounds.compare(window.bounds, other.window.bounds)
  }
}

/** The trigger's view of the current window.
  *
  * One instance serves a task. Call `open`, then `pointAt` for each window. `setRow` must come
  * before a trigger's `onRow`. Not thread-safe.
  */
private final class WindowContext[R, A <: AnyRef](plan: KeyedPlan[R, A], rows: RowStore[R])
    extends TriggerContext[R, A] {

  private var state: KeyState[A] = _
  private var window: WindowState[A] = _
  private var rowContext: RowContext = _
  private var newRow: R = _
  private var nowWatermark = Long.MinValue
  private var nowClock = Long.MinValue

  def open(state: KeyState[A], watermark: Long, clock: Long): Unit = {
    this.state = state
    nowWatermark = watermark
    nowClock = clock
  }

  def setRow(row: R, rowContext: RowContext): Unit = {
    newRow = row
    this.rowContext = rowContext
  }

  def pointAt(window: WindowState[A]): this.type = {
    this.window = window
    this
  }

  override def timeline: Timeline = plan.assigner.timeline
  override def end: Long = plan.assigner.endOf(window.bounds)
  override def cleanup: Long = plan.cleanupOf(window.bounds)
  override def watermark: Long = nowWatermark
  override def clock: Long = nowClock
  override def row: R = newRow
  override def time: Long = rowContext.time
  override def rowClock: Long = rowContext.clock
  override def accumulator: A = window.accumulatorBy(plan.aggregation)

  override def apply(slot: Int): Long = window.remembered(slot)

  override def update(slot: Int, value: Long): Unit = {
    if (window.memory == null && value != TriggerMemory.Unset) {
      window.memory = new Array[Long](plan.trigger.slots)
      Arrays.fill(window.memory, TriggerMemory.Unset)
    }
    if (window.memory != null) window.memory(slot) = value
  }

  override def addTimer(timeline: Timeline, timer: Long): Unit = {
    window.timers(timeline).add(timer)
    if (isCleanup(timeline, timer)) window.endsSilently = false
    state.noteTimer(timeline, timer)
  }

  // The cleanup timer stays. In Flink a trigger that removes this timer leaks the window.
  override def removeTimer(timeline: Timeline, timer: Long): Unit =
    if (isCleanup(timeline, timer)) window.endsSilently = true
    else window.timers(timeline).remove(timer)

  private def isCleanup(timeline: Timeline, timer: Long): Boolean =
    timeline == this.timeline && timer == cleanup

  // The row is stored in a row list of its own. The slot holds the number of the list.
  override def rememberedRow(slot: Int): R = rows.get(apply(slot), 0L)

  override def remember(slot: Int, row: R): Unit = {
    if (!isSet(slot)) {
      update(slot, state.nextList)
      state.nextList += 1
    }
    rows.put(apply(slot), 0L, row)
  }

  override def forget(slot: Int): Unit = if (isSet(slot)) {
    rows.remove(apply(slot), 0L)
    unset(slot)
  }
}

/** Trigger memory of a window that was merged into another one. Read only. */
private final class MergedMemory(window: WindowState[_]) extends TriggerMemory {
  override def apply(slot: Int): Long = window.remembered(slot)
}
