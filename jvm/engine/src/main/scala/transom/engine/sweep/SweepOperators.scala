package transom.engine.sweep

import scala.collection.View

import transom.engine.keyed.contract._
import transom.engine.runtime.{OneResult, Pulled}
import transom.engine.spec.WindowSpec
import transom.engine.time.Timeline
import transom.engine.window._

/** Creates the operator of windows that a sweep over lifetimes finds. All key groups share it.
  *
  * @param rows
  *   encodes rows
  * @param entries
  *   store parts of the state of the current key
  * @param results
  *   builds the results of the current key
  */
final class SweepOperators[R, A <: AnyRef, T](
    spec: WindowSpec,
    aggregation: WindowAggregation[R, A],
    rows: RowCodec[R],
    entries: Entries,
    results: Results[R, A, T])
    extends PerKeyOperators[R, SweepState, T] {
  private val operator = new SweepOperator(spec, aggregation, rows, results)

  override val codec: PerKeyCodec[SweepState] =
    new SweepCodec(spec.hasEdges, new SweepStore(entries, rows))

  override def timeline: Timeline = Timeline.Event

  override def weightOf(row: R): Int = aggregation.weightOf(row)

  override def of(group: Int, firstRow: => Long): PerKeyOperator[R, SweepState, T] = operator
}

/** Window operator over lifetimes, for one key at a time.
  *
  * A sweep moves over the starts and ends of lifetimes, as far as the watermark has come. Rows
  * wait until the sweep reaches their start, are live until their end, and are aggregated while
  * they are live. Each window fires once.
  *
  * A row that starts before the watermark counts from the watermark on (S-52). A row that ends
  * before is late. With edges, [[Edges]] finds the ends of rows.
  *
  * Not thread-safe.
  */
final class SweepOperator[R, A <: AnyRef, T](
    spec: WindowSpec,
    aggregation: WindowAggregation[R, A],
    codec: RowCodec[R],
    results: Results[R, A, T])
    extends PerKeyOperator[R, SweepState, T]
    with SweepSteps[T] {
  private val sweep = Sweep.of(spec.window)
  private val hasLifetimes = spec.lifetime.isDefined
  private val firstOutput = spec.firstOutputUs.getOrElse(Long.MinValue)
  private val live =
    new LiveRowAggregation(aggregation, codec, keepsAccumulators = !spec.function.takesRows)
  // Null if each row has its own end.
  private val edges =
    if (spec.hasEdges)
      new Edges(spec.lifetime.get, sweep, live, codec, spec.window.convention)
    else null
  // Most late rows are only counted, so their windows are computed on request.
  private var missed: View[TimeWindow] = View.empty
  private var outcomeOfLast: RowOutcome = RowOutcome.Added
  private var watermark = Long.MinValue
  private var emitted = 0L
  // The result of the last stop. A sweep may stop for each row, so all stops share the iterator.
  private var lastFired: FiredWindow = _
  private var liveRows: LiveRows = _
  private val resultOfStop = new OneResult(live.result(liveRows, lastFired, results))

  override def process(state: SweepState, row: R, context: RowContext): Iterator[T] = {
    outcomeOfLast =
      if (edges == null) add(state, codec.encode(row), context)
      else edges.process(state, codec.idOf(row), codec.encode(row), context)
    Pulled.none
  }

  override def outcome: RowOutcome = outcomeOfLast

  private def add(state: SweepState, bytes: Array[Byte], context: RowContext): RowOutcome = {
    val start = context.time
    val end = if (hasLifetimes) context.end else sweep.endOfPoint(start)
    // A rule may have moved the start to the end of the lifetime.
    val outcome =
      if (end <= start) RowOutcome.Late else sweep.lateness(start, end, context.watermark)
    if (outcome == RowOutcome.Late || outcome == RowOutcome.PartlyLate) {
      val watermark = context.watermark
      missed = View.fromIteratorProvider(() => sweep.missed(start, end, watermark))
    }
    if (outcome == RowOutcome.Added || outcome == RowOutcome.PartlyLate) {
      val from = math.max(start, context.watermark)
      state.pending.add(new LifetimeRow(from, end, bytes, 0, bytes.length))
      state.timer = math.min(state.timer, sweep.timerOf(from))
    }
    outcome
  }

  override def missedWindows: MissedWindows =
    MissedWindows.inOrder((if (edges == null) missed else edges.missed).iterator)

  // The idle timeout cannot be used with lifetimes.
  override def advance(
      state: SweepState,
      watermark: Long,
      clock: Long,
      watermarkByRows: Long): Iterator[T] =
    if (watermark < state.nextTimer) Pulled.none
    else {
      this.watermark = watermark
      val stops = sweep.advance(state, watermark, this)
      if (watermark < Timeline.EndOfTime) stops else Pulled.andDo(stops)(state.clear())
    }

  override def fired: Long = emitted

  override def enterBefore(state: SweepState, position: Long): Unit =
    while (state.pending.firstStart < position) {
      state.isChanged = true
      val row = state.pending.take()
      live.noteEntered(state.live, row)
      if (edges == null) live.add(state.live, row) else edges.enter(state, row)
    }

  override def enter(state: SweepState, end: Long): Unit = {
    state.isChanged = true
    val row = state.pending.take()
    live.noteEntered(state.live, row)
    live.add(state.live, new LifetimeRow(row.start, end, row.bytes, row.offset, row.length))
  }

  override def leave(state: SweepState, position: Long): Unit = {
    val before = state.live.size
    live.removeEnded(state.live, position)
    if (state.live.size < before) state.isChanged = true
  }

  override def resultsOf(state: SweepState, start: Long, end: Long): Iterator[T] = {
    val isNew = state.isChanged || !spec.changesOnly
    state.isChanged = false
    if (isNew && end >= firstOutput) fire(state, start, end) else Pulled.none
  }

  private def fire(state: SweepState, start: Long, end: Long): Iterator[T] = {
    emitted += 1
    val cause = if (watermark >= Timeline.EndOfTime) Cause.Drain else Cause.Watermark
    val pane = PaneInfo(0, Timing.OnTime, isLast = true, None, cause)
    lastFired = new FiredWindow(start, end, pane, watermark)
    liveRows = state.live
    if (spec.function.takesRows) results.ofRows(lastFired, live.rowsOf(liveRows))
    else resultOfStop.again()
  }
}
