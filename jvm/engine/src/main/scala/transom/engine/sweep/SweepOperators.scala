package transom.engine.sweep

import scala.collection.View

import transom.engine.keyed._
import transom.engine.keyed.keystate.{Entries, PerKeyCodec, WindowAggregation}
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
  *   receives the results of the current key
  */
final class SweepOperators[R, A <: AnyRef](
    spec: WindowSpec,
    aggregation: WindowAggregation[R, A],
    rows: RowCodec[R],
    entries: Entries,
    results: Results[R, A])
    extends PerKeyOperators[R, SweepState] {
  private val operator = new SweepOperator(spec, aggregation, rows, results)

  override val codec: PerKeyCodec[SweepState] =
    new SweepCodec(spec.hasEdges, new RowStore(entries, rows))

  override def timeline: Timeline = Timeline.Event

  override def weightOf(row: R): Int = aggregation.weightOf(row)

  override def of(group: Int, firstRow: => Long): PerKeyOperator[R, SweepState] = operator
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
final class SweepOperator[R, A <: AnyRef](
    spec: WindowSpec,
    aggregation: WindowAggregation[R, A],
    codec: RowCodec[R],
    results: Results[R, A])
    extends PerKeyOperator[R, SweepState]
    with SweepSteps {
  private val sweep = Sweep.of(spec.window)
  private val hasLifetimes = spec.lifetime.isDefined
  private val firstOutput = spec.firstOutputUs.getOrElse(Long.MinValue)
  private val live =
    new LiveRowAggregation(aggregation, codec, keepsAccumulators = !spec.function.takesRows)
  // Null if each row has its own end.
  private val edges =
    if (spec.hasEdges)
      new Edges(spec.lifetime.get, sweep, live, codec, TimeConvention.of(spec.window))
    else null
  // Most late rows are only counted, so their windows are computed on request.
  private var missed: View[TimeWindow] = View.empty
  private var outcomeOfLast: RowOutcome = RowOutcome.Added
  private var watermark = Long.MinValue
  private var emitted = 0L

  override def process(state: SweepState, row: R, arrival: Arrival): Iterator[Unit] = {
    outcomeOfLast =
      if (edges == null) add(state, codec.encode(row), arrival)
      else edges.process(state, codec.idOf(row), codec.encode(row), arrival)
    Steps.None
  }

  override def outcome: RowOutcome = outcomeOfLast

  private def add(state: SweepState, bytes: Array[Byte], arrival: Arrival): RowOutcome = {
    val start = arrival.time
    val end = if (hasLifetimes) arrival.end else sweep.endOfPoint(start)
    // A rule may have moved the start to the end of the lifetime.
    val outcome =
      if (end <= start) RowOutcome.Late else sweep.lateness(start, end, arrival.watermark)
    if (outcome == RowOutcome.Late || outcome == RowOutcome.PartlyLate) {
      val watermark = arrival.watermark
      missed = View.fromIteratorProvider(() => sweep.missed(start, end, watermark))
    }
    if (outcome == RowOutcome.Added || outcome == RowOutcome.PartlyLate) {
      val from = math.max(start, arrival.watermark)
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
      watermarkByRows: Long): Iterator[Unit] =
    if (watermark < state.nextTimer) Steps.None
    else {
      this.watermark = watermark
      val stops = sweep.advance(state, watermark, this)
      if (watermark < Timeline.EndOfTime) stops else Steps.andDo(stops)(state.clear())
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

  override def emit(state: SweepState, start: Long, end: Long): Iterator[Unit] = {
    val isNew = state.isChanged || !spec.changesOnly
    state.isChanged = false
    if (isNew && end >= firstOutput) emit(start, end, state) else Steps.None
  }

  private def emit(start: Long, end: Long, state: SweepState): Iterator[Unit] = {
    emitted += 1
    val cause = if (watermark >= Timeline.EndOfTime) Cause.Drain else Cause.Watermark
    val pane = PaneInfo(0, Timing.OnTime, isLast = true, None, cause)
    val window = new FiredWindow(start, end, pane, watermark)
    if (spec.function.takesRows) results.emitRows(window, live.rowsOf(state.live))
    else {
      live.emit(state.live, window, results)
      Steps.None
    }
  }
}
