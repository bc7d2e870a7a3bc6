package transom.engine.keyed

import java.util.PriorityQueue

import scala.collection.{mutable, View}
import scala.collection.mutable.ArrayBuffer

import transom.engine.firing.TriggerResult
import transom.engine.keyed.keystate.{Contents, KeyState, WindowState}
import transom.engine.time.{Ticks, Timeline}
import transom.engine.window._

/** Window operator of windows whose bounds are known when a row is added. Follows Flink's
  * `WindowOperator`. Holds mutable caches: not thread-safe.
  *
  * @param rows
  *   stores the raw rows of the current key
  * @param results
  *   receives the results of the current key
  */
final class KeyedOperator[R, A <: AnyRef](
    plan: KeyedPlan[R, A],
    rows: Contents[R],
    results: Results[R, A])
    extends PerKeyOperator[R, KeyState[A]] {
  import plan.{assigner, trigger}

  private val contents = new WindowContents(plan, rows)
  private val firing = new Firing(plan, contents, rows, results)
  private val context = new WindowContext(plan, rows)
  private val firingContext = new FiringContext
  private val assigned = ArrayBuffer.empty[TimeWindow]
  private val missed = ArrayBuffer.empty[TimeWindow]
  // The closed windows of the row that `assigned` leaves out.
  private var closed: View[TimeWindow] = View.empty
  // Empty except while timers run.
  private val expired = new PriorityQueue[ExpiredTimer[A]]

  /** Adds a row to its windows and runs the triggers. Windows that have passed their cleanup time
    * do not get the row.
    */
  override def process(state: KeyState[A], row: R, arrival: Arrival): Iterator[Unit] = {
    assigned.clear()
    missed.clear()
    closed = assigner.assignOpen(arrival, state.rowCount, closedBy(state, arrival), assigned)
    context.open(state, arrival.watermark, arrival.clock)
    context.setRow(row, arrival)
    addTo(0, state, row, arrival)
  }

  /** The end up to which no window is open and no window can open. */
  private def closedBy(state: KeyState[A], arrival: Arrival): Long =
    if (assigner.timeline != Timeline.Event) Long.MinValue
    else {
      val closed = Ticks.subtract(arrival.watermark, plan.allowedLateness)
      // A row may have opened a window by an earlier watermark than the key has reached.
      val isOpen =
        !state.windows.isEmpty && assigner.endOf(state.windows.firstKey) <= closed
      if (isOpen) Long.MinValue else closed
    }

  /** Adds a row to the assigned windows from number `from` on. */
  private def addTo(from: Int, state: KeyState[A], row: R, arrival: Arrival): Iterator[Unit] = {
    var i = from
    var steps = Steps.None
    while (i < assigned.length && (steps eq Steps.None)) {
      val bounds = assigned(i)
      val window = if (assigner.isMerging) join(state, bounds) else find(state, bounds)
      if (window == null) missed += bounds else steps = addRow(state, window, row, arrival)
      i += 1
    }
    if (steps eq Steps.None) {
      // The `pane` column numbers the windows of a key, so the count must never restart.
      val isIdle = !plan.countsPanes && state.windows.isEmpty
      state.rowCount = assigner.countRow(state.rowCount, isIdle)
      steps
    } else {
      val next = i
      steps ++ addTo(next, state, row, arrival)
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
      watermarkByRows: Long): Iterator[Unit] = {
    firingContext.watermarkByRows = watermarkByRows
    Steps.andThen(advanceWatermark(state, watermark, clock)) {
      Steps.andThen(advanceClock(state, clock)) {
        if (watermark >= Timeline.EndOfTime) end(state, watermark, clock) else Steps.None
      }
    }
  }

  private def advanceWatermark(state: KeyState[A], watermark: Long, clock: Long) =
    if (watermark <= state.watermark) Steps.None
    else {
      state.watermark = watermark
      if (watermark < state.watermarkBound) Steps.None
      else runTimers(state, Timeline.Event, watermark, watermark, clock)
    }

  private def advanceClock(state: KeyState[A], clock: Long) =
    if (clock <= state.clock) Steps.None
    else {
      state.clock = clock
      // A tick may come without a watermark. The key keeps the one that it has reached.
      if (clock < state.clockBound) Steps.None
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
  override def endBatch(state: KeyState[A], watermark: Long, clock: Long): Iterator[Unit] = {
    // The key has met its own watermark. Windows that end later have not fired at their end.
    val met = math.max(watermark, state.watermark)
    context.open(state, met, clock)
    firingContext.set(Cause.Batch, met, clock)
    state.windows.values.toArray(Array.empty[WindowState[A]]).iterator.flatMap { window =>
      Steps.andDo(handle(trigger.onBatchEnd(context.pointAt(window)), window)) {
        if (window.isIdle) state.remove(window)
      }
    }
  }

  private def find(state: KeyState[A], bounds: TimeWindow): WindowState[A] = {
    val latest = state.latest
    if (latest != null && latest.bounds == bounds) latest
    else {
      val found = state.windows.get(bounds)
      if (found != null) state.latest = found
      if (found != null || !canOpen(bounds)) found else open(state, bounds)
    }
  }

  /** Finds, merges or opens the window that contains `own`, the window of a single row. Returns
    * null if `own` is late. A window that meets an open window is never late (flink.md 6.5).
    */
  private def join(state: KeyState[A], own: TimeWindow): WindowState[A] = {
    val latest = state.latest
    if (latest != null && latest.bounds.contains(own)) latest
    else {
      val target = MergingWindows.targetOf(state.windows, own, assigner.isInclusive)
      if (target.sources.isEmpty) if (canOpen(own)) open(state, own) else null
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
    contents.merge(sources, merged)
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
      plan.cleanupOf(bounds) > context.watermark && assigner.canOpen(bounds, context.watermark)

  private def addRow(
      state: KeyState[A],
      window: WindowState[A],
      row: R,
      arrival: Arrival): Iterator[Unit] = {
    contents.add(state, window, row, arrival.time)
    val result = trigger.onRow(context.pointAt(window))
    if (result eq TriggerResult.Continue) {
      addCleanup(window)
      Steps.None
    } else {
      firingContext.set(Cause.Rows, arrival.watermark, arrival.clock)
      Steps.andThen(handle(result, window)) {
        addCleanup(window)
        if (result.purges && assigner.endsWhenPurged) forget(state, window)
        else {
          if (result.purges && window.isIdle) state.remove(window)
          Steps.None
        }
      }
    }
  }

  private def addCleanup(window: WindowState[A]): Unit = {
    val cleanup = plan.cleanupOf(window.bounds)
    if (cleanup != Long.MaxValue) context.addTimer(assigner.timeline, cleanup)
  }

  private def handle(result: TriggerResult, window: WindowState[A]): Iterator[Unit] = {
    val fired =
      if (result.fires && !contents.isEmpty(window)) firing.fire(window, firingContext)
      else Steps.None
    if (result.purges) Steps.andDo(fired)(contents.clear(window)) else fired
  }

  /** Runs the timers of one timeline in ascending order up to `until`. Timers that are set
    * meanwhile run too if they are due.
    */
  private def runTimers(
      state: KeyState[A],
      timeline: Timeline,
      until: Long,
      watermark: Long,
      clock: Long): Iterator[Unit] = {
    val windows = state.windows.values.iterator
    while (windows.hasNext) enqueue(windows.next(), timeline, until)
    context.open(state, watermark, clock)
    new StepLoop {
      override protected def continues: Boolean = !expired.isEmpty
      override protected def turn(): Iterator[Unit] = {
        val next = expired.poll()
        firingContext.set(Cause.Rows, watermark, clock).setTimer(timeline, next.timer)
        Steps.andDo(runTimer(state, next.window, timeline, next.timer)) {
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
      timer: Long): Iterator[Unit] = {
    window.timers(timeline).remove(timer)
    val isCleanup = timeline == assigner.timeline && timer == plan.cleanupOf(window.bounds)
    // The trigger runs before the cleanup and may fire one last time (flink.md 3.5), unless it
    // has removed its timer (flink.md 5.8).
    val handled =
      if (isCleanup && window.endsSilently) Steps.None
      else handle(trigger.onTimer(timeline, timer, context.pointAt(window)), window)
    Steps.andThen(handled) {
      if (isCleanup) forget(state, window)
      else {
        if (window.isIdle) state.remove(window)
        Steps.None
      }
    }
  }

  private def forget(state: KeyState[A], window: WindowState[A]): Iterator[Unit] =
    Steps.andDo(firing.end(window, firingContext)) {
      contents.clear(window)
      trigger.clear(context.pointAt(window))
      state.remove(window)
    }

  /** Removes windows when the input ends. Windows of `Timeline.Endless` live until then. A
    * watermark of `Long.MaxValue` also removes all other windows.
    */
  private def end(state: KeyState[A], watermark: Long, clock: Long): Iterator[Unit] =
    if (watermark == Long.MaxValue || assigner.timeline == Timeline.Endless) {
      context.open(state, watermark, clock)
      firingContext.set(Cause.Drain, watermark, clock)
      new StepLoop {
        override protected def continues: Boolean = !state.windows.isEmpty
        override protected def turn(): Iterator[Unit] =
          forget(state, state.windows.firstEntry.getValue)
        override protected def finish(): Unit = {
          state.rowCount = 0L
          state.refreshBound(Timeline.Event)
          state.refreshBound(Timeline.Clock)
        }
      }
    } else Steps.None
}

/** A due timer and its window, ordered by time and then by the bounds of the window. */
private[keyed] final class ExpiredTimer[A <: AnyRef](val timer: Long, val window: WindowState[A])
    extends Comparable[ExpiredTimer[A]] {

  override def compareTo(other: ExpiredTimer[A]): Int = {
    val order = java.lang.Long.compare(timer, other.timer)
    if (order != 0) order else KeyState.ByBounds.compare(window.bounds, other.window.bounds)
  }
}
