package transom.engine.keyed

import scala.collection.mutable.ArrayBuffer

import transom.engine.keyed.keystate.{KeyStore, PerKeyState}
import transom.engine.runtime._
import transom.engine.spec._
import transom.engine.state.{ByteRange, Cursor, Limits}
import transom.engine.time.{Advance, Timeline, Watermark}
import transom.engine.window._

/** The window operator of a task in the keyed layout, which has an entry per key.
  *
  * All key groups share `rows`, `results` and `emissions`.
  *
  * @param operators
  *   create the operators of keys
  * @param rows
  *   stores the raw rows of windows
  * @param results
  *   builds the results of the current key and adds them to `emissions`
  * @param clocksOf
  *   opens the clocks of a key group at a wall-clock time, in microseconds since 1970
  */
final class KeyedTaskOperator[K <: KeyStore, R, S <: PerKeyState, T](
    spec: WindowSpec,
    operators: PerKeyOperators[R, S],
    rows: StoredRows[R],
    results: KeyListener,
    emissions: Emissions[T],
    sideOutput: SideOutput[T],
    limits: Limits,
    clocksOf: (K, Long) => KeyClocks)
    extends TaskOperator[K, T] {
  private val convention = TimeConvention.of(spec.window)
  private val listener: KeyListener = key => {
    results.pointAt(key)
    rows.pointAt(key)
  }

  override def open(group: Int, store: K, clock: Long): KeyGroupOperator[T] = {
    rows.open(store)
    val clocks = clocksOf(store, clock)
    val operator = operators.of(group, store.firstRow.getOrElse(clock))
    new KeyedGroupOperator(
      spec,
      operators,
      operator,
      new KeysOfGroup(
        operator,
        operators.codec,
        store,
        clocks,
        listener,
        forgetsAtEnd,
        limits.keys),
      clocks,
      rows,
      store,
      clock,
      convention,
      new SideRows(spec, sideOutput, clock),
      emissions)
  }

  // The end of the input must also reach keys without timers.
  private def forgetsAtEnd: Boolean = spec.drain && operators.timeline != Timeline.Event
}

/** The window operator of one key group in the keyed layout.
  *
  * A late row that touches no open session waits until all other rows of the batch have been
  * added. The waiting rows are then tried from the newest to the oldest. A row counts if it
  * touches a session that is open at that time, as in the session log. With
  * `late_start="reject"`, a rejected row may still extend a session that another late row opens
  * later. So rejected rows are tried once more, oldest first. Behind a time stage no row waits,
  * because results must not depend on the batch of a row.
  */
private final class KeyedGroupOperator[R, S <: PerKeyState, T](
    spec: WindowSpec,
    operators: PerKeyOperators[R, S],
    operator: PerKeyOperator[R, S],
    group: KeysOfGroup[R, S],
    clocks: KeyClocks,
    rows: StoredRows[R],
    store: KeyStore,
    clock: Long,
    convention: TimeConvention,
    side: SideRows[T],
    emissions: Emissions[T])
    extends KeyGroupOperator[T](emissions) {
  private val isOnClock = spec.time.contains(ProcessingTime)
  // Each row has a late watermark of its own.
  private val isJudged = spec.policy.isDefined
  private val lateRowsWait = spec.window.isMerging && !isJudged
  private val reason = LateReason.of(spec.window)
  // The wall clock fires windows in processing time, so it is converted like a watermark.
  private val now = if (isOnClock) convention.watermarkIn(clock) else clock
  private val combined = new Arrival
  private val dropped = new Event.DeadLetter
  private val waiting = ArrayBuffer.empty[(Retry, Event.Row)]
  private var savesFirstRow = spec.window.stagger == Stagger.Natural && store.firstRow.isEmpty
  private var lateWatermark = Watermark.NotYet
  private var advance = Advance.Unknown
  private var hasTicked = false
  // All key groups of a task share the operator of a key.
  private val countedBefore = operator.fired

  override def nextTimer: Long = convention.watermarkOut(group.nextTimer)

  private var rowsOpen: Option[Long] = None
  // The watermark or the wall-clock time by which windows have closed.
  private var closedBy = Watermark.NotYet

  override def gauges: Option[Gauges] = {
    val reached = clocks.reached.orElse(convention.reached(advance.after))
    // The windows of different substreams close at different times.
    val knowsStarts =
      spec.window.isInstanceOf[GridWindow] && !spec.hasSubstreams && !spec.isSwept
    val touched = Option.when(knowsStarts)(new TouchedWindows(closedBy, group.closings))
    Option.when(reached.isDefined || rowsOpen.isDefined || touched.isDefined)(
      Gauges(watermark = reached, rowsOpen = rowsOpen, touched = touched))
  }

  override protected def handle(event: Event): Iterator[Unit] = event match {
    case row: Event.Row =>
      val time = row.arrival.time
      val reason = clocks.judge(row, group.find(row.key), counts)
      if (reason == null) place(row)
      else {
        drop(row, reason, time)
        Steps.None
      }
    case segment: Event.Segment => add(segment)
    case other =>
      note(other)
      Steps.None
  }

  private def note(event: Event): Unit = event match {
    case Event.Tick => hasTicked = true
    case letter: Event.DeadLetter => emissions.emit(side.deadLetter(letter))
    case task: Event.Counts =>
      counts.add(task.bytes)
      side.isFirst = true
    case advanced: Event.Advanced => advance = advance.max(advanced.advance)
    case latest: Event.LatestArrival => clocks.noteArrival(latest.time)
    case punctuation: Event.Punctuation => clocks.punctuate(punctuation.row, counts)
    case _: Event.Row | _: Event.Segment =>
    // Only a time stage judges rows that stay with their tasks.
    case _: Event.ReadRows =>
  }

  private def place(row: Event.Row): Iterator[Unit] = Steps.andDo(add(row)) {
    val retry = if (lateRowsWait) operator.retry(group.outcome) else null
    if (retry != null) waiting += ((retry, row.copy())) else report(row, group.outcome)
  }

  /** @param time
    *   the time of the row before the rules, microseconds since 1970
    */
  private def drop(row: Event.Row, reason: DeadLetterReason, time: Long): Unit =
    if (spec.deadLetters) {
      dropped.input.set(row.input)
      dropped.reason = reason
      dropped.time = Some(time)
      dropped.lateWatermark = row.arrival.watermark
      emissions.emit(side.deadLetter(dropped))
    }

  private def add(row: Event.Row): Iterator[Unit] = {
    lateWatermark = row.arrival.watermark
    if (isOnClock) row.arrival.time = convention.timeIn(clock)
    add(row.key, row.value, row.arrival)
  }

  /** Adds the accumulators of a segment, which contains no late rows. */
  private def add(segment: Event.Segment): Iterator[Unit] = {
    lateWatermark = segment.lateWatermark
    combined.watermark = segment.lateWatermark
    combined.slice = segment.slice
    addAll(new Cursor(Iterator.single(segment.bytes)))
  }

  private def addAll(accumulators: Cursor): Iterator[Unit] = {
    var steps = Steps.None
    while ((steps eq Steps.None) && accumulators.advance())
      steps = add(accumulators.key, accumulators.accumulator, combined)
    if (steps eq Steps.None) steps else steps ++ addAll(accumulators)
  }

  private def add(key: ByteRange, value: ByteRange, arrival: Arrival): Iterator[Unit] = {
    if (savesFirstRow) {
      savesFirstRow = false
      store.saveFirstRow(clock)
    }
    arrival.clock = now
    Steps.andThen(group.reach(key, arrival)) {
      // The codec shares its rows, and windows that fire read others.
      val row = rows.codec.view(value)
      group.add(row, arrival, operators.weightOf(row))
    }
  }

  private def report(row: Event.Row, outcome: RowOutcome): Unit = outcome match {
    case RowOutcome.Added =>
    case RowOutcome.NoWindow => counts.add(RowCounts.InGaps)
    case RowOutcome.Late =>
      counts.add(RowCounts.Late)
      if (spec.lateRows != LateRows.No) emitLate(row, reason)
    case RowOutcome.PartlyLate =>
      if (spec.lateRows == LateRows.Partly) {
        counts.add(RowCounts.LatePartly)
        emitLate(row, LateReason.LatePartly)
      }
    case RowOutcome.Ended => counts.add(RowCounts.EndEdges)
    case RowOutcome.EndedLate =>
      counts.add(RowCounts.EndEdges)
      report(row, RowOutcome.PartlyLate)
    case RowOutcome.BadLifetime =>
      counts.add(DeadLetterReason.BadLifetime.count)
      drop(row, DeadLetterReason.BadLifetime, convention.timeOut(row.arrival.time))
  }

  private def emitLate(row: Event.Row, reason: LateReason): Unit =
    emissions.emit(
      side
        .late(row.input, reason, operator.missedWindows, row.arrival.time, row.arrival.watermark))

  override protected def finish(): Iterator[T] =
    emissions.of(addWaiting() ++ advanceTime() ++ side.reached(advance.after).map(emissions.emit))

  private def addWaiting(): Iterator[Unit] = {
    val newestFirst =
      waiting.sortBy { case (retry, _) => -retry.end }.iterator.map { case (retry, row) =>
        operator.resume(retry)
        row
      }
    if (spec.window.lateStart == LateStart.Open) newestFirst.flatMap(addAndReport)
    else {
      val late = ArrayBuffer.empty[Event.Row]
      newestFirst.flatMap(addOrKeep(_, late)) ++
        late.sortBy(_.arrival.time).iterator.flatMap(addAndReport)
    }
  }

  // A report is a step of its own.
  private def addAndReport(row: Event.Row): Iterator[Unit] =
    add(row) ++ Steps.one(report(row, group.outcome))

  private def addOrKeep(row: Event.Row, late: ArrayBuffer[Event.Row]): Iterator[Unit] =
    add(row) ++ Steps.one {
      if (group.outcome == RowOutcome.Late) late += row else report(row, group.outcome)
    }

  private def advanceTime(): Iterator[Unit] = {
    // Windows in processing time fire too when the input ends.
    val isEnd = operators.timeline == Timeline.Clock && advance.after >= Timeline.EndOfTime
    val until = if (isEnd) Timeline.EndOfTime else now
    if (hasTicked) clocks.tick()
    val before = if (isJudged) Watermark.NotYet else lateWatermark
    closedBy =
      if (operators.timeline == Timeline.Event) advance.after
      else if (hasTicked || isEnd) until
      else Watermark.NotYet
    val ofAllKeys = advance.copy(before = before).max(Advance.to(clocks.common))
    group.advance(ofAllKeys, until, hasTicked)
  }

  override protected def save(): Unit = {
    counts.add(RowCounts.WindowsFired, operator.fired - countedBefore)
    group.save()
    clocks.save()
    if (spec.hasEdges) rowsOpen = Some(group.openRows)
  }
}
