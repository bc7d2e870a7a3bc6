package transom.engine.sweep

import transom.engine.runtime.{Pulled, PulledLoop}
import transom.engine.time.{Ticks, Timeline}
import transom.engine.window._

/** Moves the sweep of a key over the starts and ends of lifetimes, and finds its windows.
  *
  * All times follow the engine's convention. Not thread-safe.
  */
private[sweep] sealed abstract class Sweep {

  /** The end of a row's lifetime if the spec has no lifetimes. */
  def endOfPoint(time: Long): Long = time + 1

  /** Which windows of a row are over at a watermark.
    *
    * @param start
    *   start of the row's lifetime
    * @param end
    *   end of the row's lifetime
    */
  def lateness(start: Long, end: Long, watermark: Long): RowOutcome =
    if (end <= watermark) RowOutcome.Late
    else if (start < watermark) RowOutcome.PartlyLate
    else RowOutcome.Added

  /** The windows of a row that are over at a watermark, in the order of their ends. The iterator
    * computes a window when it is read.
    */
  def missed(start: Long, end: Long, watermark: Long): Iterator[TimeWindow]

  /** Where a row ends if the row with its end comes at a watermark.
    *
    * @param end
    *   the end that the other row sets
    */
  def endOf(end: Long, watermark: Long): Long

  /** The windows that are over at a watermark and hold a row that should have ended before, in
    * the order of their ends. The iterator computes a window when it is read.
    *
    * @param start
    *   from where on the row counts
    * @param end
    *   the end that comes at the watermark
    */
  def overrun(start: Long, end: Long, watermark: Long): Iterator[TimeWindow]

  /** The watermark from which on the sweep can move because a row gets an end. */
  def timerOfEnd(end: Long): Long

  /** The watermark from which on the sweep can move because of a pending row. */
  def timerOf(start: Long): Long

  /** Moves the sweep as far as the watermark allows, and sets the next timer. Returns the
    * results.
    */
  def advance[T](state: SweepState, watermark: Long, steps: SweepSteps[T]): Iterator[T]
}

/** What a sweep does at its stops. */
private[sweep] trait SweepSteps[T] {

  /** Makes the pending rows live that start before `position`. */
  def enterBefore(state: SweepState, position: Long): Unit

  /** Makes a pending row live with another end. */
  def enter(state: SweepState, end: Long): Unit

  /** Removes the live rows that have ended at `position`. */
  def leave(state: SweepState, position: Long): Unit

  /** The results for the live rows. Requires that there is one. */
  def resultsOf(state: SweepState, start: Long, end: Long): Iterator[T]
}

private[sweep] object Sweep {

  def of(window: Window): Sweep = window match {
    case swept: SweptWindow =>
      swept match {
        case _: Snapshot => SnapshotSweep
        case Rolling(size) => new RollingSweep(size)
        case CountByStart(size) => new StartCountSweep(size)
      }
    case grid: GridWindow => new GridSweep(grid.grid)
    case other => throw new IllegalArgumentException(s"no sweep finds $other")
  }

  /** The next instant at which rows enter or leave. */
  private[sweep] def nextStop(state: SweepState): Long =
    math.min(state.pending.firstStart, state.live.firstEnd)

  /** The watermark above `position`; none if there is no such position. */
  private[sweep] def above(position: Long): Long =
    if (position == RowContext.NoEnd) Long.MaxValue else position + 1
}

/** The sweep of windows that take no edges. */
private sealed abstract class SweepWithoutEdges extends Sweep {
  private def noEdges = throw new UnsupportedOperationException("the windows take no edges")

  override final def endOf(end: Long, watermark: Long): Long = noEdges
  override final def overrun(start: Long, end: Long, watermark: Long): Iterator[TimeWindow] =
    noEdges
  override final def timerOfEnd(end: Long): Long = noEdges
}

/** The windows between neighbouring starts and ends. */
private object SnapshotSweep extends Sweep {

  // The windows up to the watermark have counted the row.
  override def endOf(end: Long, watermark: Long): Long = math.max(end, watermark)

  override def overrun(start: Long, end: Long, watermark: Long): Iterator[TimeWindow] = {
    val from = math.max(start, end)
    if (from < watermark) Iterator.single(TimeWindow(from, watermark)) else Iterator.empty
  }

  override def timerOfEnd(end: Long): Long = end

  override def missed(start: Long, end: Long, watermark: Long): Iterator[TimeWindow] =
    Iterator.single(TimeWindow(start, math.min(end, watermark)))

  override def timerOf(start: Long): Long = start

  override def advance[T](
      state: SweepState,
      watermark: Long,
      steps: SweepSteps[T]): Iterator[T] = {
    var stop = Sweep.nextStop(state)
    new PulledLoop[T] {
      override protected def continues: Boolean = stop <= watermark && stop != RowContext.NoEnd
      override protected def turn(): Iterator[T] = {
        val fired =
          if (state.position < stop && !state.live.isEmpty)
            steps.resultsOf(state, state.position, stop)
          else Pulled.none
        Pulled.andDo(fired) {
          steps.leave(state, stop)
          steps.enterBefore(state, stop + 1)
          state.position = stop
          stop = Sweep.nextStop(state)
        }
      }
      override protected def finish(): Unit = state.timer = stop
    }
  }
}

/** The last `duration` microseconds before each start and each end. Rows live as long.
  *
  * A row at `t` is in the windows that end from `t` on, and their ends are inclusive. So the
  * result at `t` is complete only when the watermark is past `t`.
  */
private final class RollingSweep(duration: Long) extends SweepWithoutEdges {

  override def endOfPoint(time: Long): Long = time + duration

  override def missed(start: Long, end: Long, watermark: Long): Iterator[TimeWindow] =
    Iterator.single(TimeWindow(start - duration, start))

  override def timerOf(start: Long): Long = Sweep.above(start)

  override def advance[T](
      state: SweepState,
      watermark: Long,
      steps: SweepSteps[T]): Iterator[T] = {
    var stop = Sweep.nextStop(state)
    new PulledLoop[T] {
      override protected def continues: Boolean = stop < watermark && stop != RowContext.NoEnd
      override protected def turn(): Iterator[T] = {
        steps.leave(state, stop)
        steps.enterBefore(state, stop + 1)
        state.position = stop
        val end = stop
        stop = Sweep.nextStop(state)
        if (state.live.isEmpty) Pulled.none else steps.resultsOf(state, end - duration, end)
      }
      override protected def finish(): Unit = state.timer = Sweep.above(stop)
    }
  }
}

/** Windows over `width` distinct starts. A live row ends `width` starts after its own start, so
  * the ends of live rows are numbers of starts.
  */
private final class StartCountSweep(width: Int) extends SweepWithoutEdges {

  override def lateness(start: Long, end: Long, watermark: Long): RowOutcome =
    if (start < watermark) RowOutcome.Late else RowOutcome.Added

  override def missed(start: Long, end: Long, watermark: Long): Iterator[TimeWindow] =
    Iterator.single(TimeWindow(start, start + 1))

  override def timerOf(start: Long): Long = Sweep.above(start)

  override def advance[T](
      state: SweepState,
      watermark: Long,
      steps: SweepSteps[T]): Iterator[T] = {
    var stop = state.pending.firstStart
    new PulledLoop[T] {
      override protected def continues: Boolean = stop < watermark && stop != RowContext.NoEnd
      override protected def turn(): Iterator[T] = {
        state.starts += 1
        steps.leave(state, state.starts)
        while (state.pending.firstStart == stop) steps.enter(state, state.starts + width)
        state.position = stop
        val last = stop
        stop = state.pending.firstStart
        if (state.starts < width) Pulled.none
        else steps.resultsOf(state, state.live.firstStart, last + 1)
      }
      override protected def finish(): Unit = state.timer = Sweep.above(stop)
    }
  }
}

/** The windows of a grid. Windows end in the order of their starts. So a row enters at the end of
  * the first window that it overlaps, and leaves at the start of the first window after its end.
  */
private final class GridSweep(grid: Grid) extends Sweep {

  override def endOf(end: Long, watermark: Long): Long = end

  override def overrun(start: Long, end: Long, watermark: Long): Iterator[TimeWindow] = {
    val firsts = Seq(grid.firstAfter(start), lastBegun(end)).filter(_ != null)
    if (firsts.length < 2) Iterator.empty
    else
      Iterator
        .iterate(firsts.maxBy(window => (window.end, window.start)))(grid.nextWindow)
        .takeWhile(window => window != null && grid.endOf(window) <= watermark)
        .filter(window => grid.endOf(window) > end && grid.instantOf(window.start) >= end)
        .map(grid.instantsOf)
  }

  /** The last window that has begun at an instant, or the first one after it. The windows that
    * start from the instant on are this window or later ones.
    */
  private def lastBegun(instant: Long): TimeWindow = {
    val slice = grid.sliceOf(instant)
    if (slice == Grid.NoSlice) grid.firstAfter(instant)
    else {
      val first = grid.firstWindow(slice, Long.MinValue)
      // Windows of a cycle start together.
      if (grid.instantOf(first.start) >= instant) first
      else grid.firstWindow(slice, Ticks.subtract(grid.lastEndOf(slice), 1))
    }
  }

  // Live rows have set the timer already.
  override def timerOfEnd(end: Long): Long = Long.MaxValue

  override def lateness(start: Long, end: Long, watermark: Long): RowOutcome = {
    val first = grid.firstAfter(start)
    if (!overlaps(first, end)) RowOutcome.NoWindow
    else if (grid.endOf(first) > watermark) RowOutcome.Added
    else if (overlaps(grid.firstAfter(math.max(start, watermark)), end)) RowOutcome.PartlyLate
    else RowOutcome.Late
  }

  override def missed(start: Long, end: Long, watermark: Long): Iterator[TimeWindow] =
    Iterator
      .iterate(grid.firstAfter(start))(grid.nextWindow)
      .takeWhile(window => overlaps(window, end) && grid.endOf(window) <= watermark)
      .map(grid.instantsOf)

  override def timerOf(start: Long): Long = endOf(grid.firstAfter(start))

  private def endOf(window: TimeWindow): Long =
    if (window == null) Long.MaxValue else grid.endOf(window)

  private def overlaps(window: TimeWindow, end: Long): Boolean =
    window != null && grid.instantOf(window.start) < end

  override def advance[T](
      state: SweepState,
      watermark: Long,
      steps: SweepSteps[T]): Iterator[T] = {
    // A row without end would be in all windows until the end of time.
    val limit = if (watermark >= Timeline.EndOfTime) state.lastStop else RowContext.NoEnd
    var window = firstOf(state)
    new PulledLoop[T] {
      override protected def continues: Boolean =
        overlaps(window, limit) && grid.endOf(window) <= watermark
      override protected def turn(): Iterator[T] = {
        val (start, end) = (grid.instantOf(window.start), grid.endOf(window))
        steps.enterBefore(state, end)
        steps.leave(state, start)
        val isEmpty = state.live.isEmpty
        state.position = end
        window = nextOf(state, window)
        if (isEmpty) Pulled.none else steps.resultsOf(state, start, end)
      }
      override protected def finish(): Unit = state.timer = endOf(window)
    }
  }

  /** The first window that may hold rows. */
  private def firstOf(state: SweepState): TimeWindow =
    if (!state.live.isEmpty) grid.firstAfter(state.position)
    else if (state.pending.isEmpty) null
    else grid.firstAfter(math.max(state.position, state.pending.firstStart))

  private def nextOf(state: SweepState, window: TimeWindow): TimeWindow = {
    val next = grid.nextWindow(window)
    val isEmpty = state.live.isEmpty &&
      (next == null || state.pending.firstStart >= grid.endOf(next))
    if (isEmpty) firstOf(state) else next
  }
}
