package transom.engine.keyed

import scala.collection.mutable.ArrayBuffer

import transom.engine.judge.{Judgement, KeyJudge}
import transom.engine.keyed.contract._
import transom.engine.keyed.keystate.KeyStore
import transom.engine.runtime._
import transom.engine.spec._
import transom.engine.state.{ByteRange, Cursor, Limits}
import transom.engine.time.{Advance, Timeline, Watermark}
import transom.engine.window._

/** The window operator of a task in the keyed layout, which has an entry per key.
  *
  * All key groups share `rows` and `results`.
  *
  * @param operators
  *   create the operators of keys
  * @param rows
  *   stores the raw rows of windows
  * @param results
  *   builds the results of the current key
  * @param judgeOf
  *   opens the judge of a key group at a wall-clock time, in microseconds since 1970
  * @param bySource
  *   whether each source has a watermark by which its rows are late, and windows fire by the
  *   least of them. The first input of a batch is then an `Advanced` that says by which watermark
  *   they have fired before.
  */
final class KeyedTaskOperator[K <: KeyStore, R, T](
    spec: WindowSpec,
    operators: PerKeyOperators[R, _ <: PerKeyState, T],
    rows: EncodedRowStore[R],
    results: KeyListener,
    sideOutput: SideOutput[T],
    limits: Limits,
    judgeOf: (K, Long) => KeyJudge,
    bySource: Boolean = false)
    extends TaskOperator[K, T] {
  private val convention = spec.window.convention
  private val listener: KeyListener = key => {
    results.pointAt(key)
    rows.pointAt(key)
  }

  override def open(group: Int, store: K, clock: Long): KeyGroupOperator[T] = {
    rows.open(store)
    groupOf(operators, group, store, clock)
  }

  private def groupOf[S <: PerKeyState](
      operators: PerKeyOperators[R, S, T],
      group: Int,
      store: K,
      clock: Long): KeyGroupOperator[T] = {
    val judge = judgeOf(store, clock)
    val operator = operators.of(group, store.firstRow.getOrElse(clock))
    new KeyedGroupOperator(
      this,
      spec,
      operators,
      operator,
      new KeysOfGroup(
        operator,
        operators.codec,
        store,
        judge,
        listener,
        forgetsAtEnd,
        limits.keys),
      judge,
      rows,
      store,
      clock,
      convention,
      new SideRows(spec, sideOutput, clock),
      bySource)
  }

  // The end of the input must also reach keys without timers.
  private def forgetsAtEnd: Boolean = spec.drain && operators.timeline != Timeline.Event
}

/** The window operator of one key group in the keyed layout.
  *
  * A late row that touches no open session waits until all other rows of the batch have been
  * added. This rule needs batches, so it is here and not in `PerKeyOperator`. The waiting rows
  * are then tried from the newest to the oldest. A row counts if it touches a session that is
  * open at that time, as in the session log. With `late_start="reject"`, a rejected row may still
  * extend a session that another late row opens later. So rejected rows are tried once more,
  * oldest first. Behind a time stage no row waits, because results must not depend on the batch
  * of a row.
  */
private final class KeyedGroupOperator[R, S <: PerKeyState, T](
    owner: TaskOperator[_, T],
    spec: WindowSpec,
    operators: PerKeyOperators[R, S, T],
    operator: PerKeyOperator[R, S, T],
    group: KeysOfGroup[R, S, T],
    judge: KeyJudge,
    rows: EncodedRowStore[R],
    store: KeyStore,
    clock: Long,
    convention: TimeConvention,
    side: SideRows[T],
    bySource: Boolean)
    extends KeyGroupOperator[T](owner) {
  private val isOnClock = spec.time.contains(ProcessingTime)
  // Each row has a late watermark of its own.
  private val isJudged = spec.policy.isDefined
  private val lateRowsWait = spec.window.isMerging && !isJudged
  private val reason = LateReason.of(spec.window)
  // The wall clock fires windows in processing time, so it is converted like a watermark.
  private val now = if (isOnClock) convention.watermarkIn(clock) else clock
  private val judgement = new Judgement
  private val combined = new RowContext
  private val dropped = new GroupInput.DeadLetter
  private val waiting = ArrayBuffer.empty[(Retry, GroupInput.Row)]
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
    val own = judge.watermark
    val reached =
      if (own != Watermark.NotYet) Some(own) else convention.reached(advance.after)
    // The windows of different substreams close at different times.
    val knowsStarts =
      spec.window.isInstanceOf[GridWindow] && !spec.hasSubstreams && !spec.isSwept
    val touched = Option.when(knowsStarts)(new TouchedWindows(closedBy, group.closings))
    Option.when(reached.isDefined || rowsOpen.isDefined || touched.isDefined)(
      Gauges(watermark = reached, rowsOpen = rowsOpen, touched = touched))
  }

  override protected def handle(input: GroupInput): Iterator[T] = {
    var results: Iterator[T] = Pulled.none
    input match {
      case row: GroupInput.Row =>
        val time = row.context.time
        val key = group.find(row.key)
        if (key.source == null) key.source = judge.sourceOf(row.key)
        judge.judge(key.source, row, judgement)
        judgement.count(counts)
        results =
          if (judgement.dropped == null) admit(row) else drop(row, judgement.dropped, time)
      case segment: GroupInput.Segment => results = add(segment)
      case letter: GroupInput.DeadLetter => results = Pulled.one(side.deadLetter(letter))
      case GroupInput.Tick => hasTicked = true
      case task: GroupInput.Counts =>
        counts.add(task.bytes)
        side.isFirst = true
      case advanced: GroupInput.Advanced => advance = advance.max(advanced.advance)
      case latest: GroupInput.LatestArrival => judge.noteArrival(latest.time)
      case punctuation: GroupInput.Punctuation =>
        judge.punctuate(judge.sourceOf(punctuation.row.key), punctuation.row, judgement)
        judgement.count(counts)
      // Only a time stage judges rows that stay with their tasks.
      case _: GroupInput.ReadRows =>
    }
    results
  }

  private def admit(row: GroupInput.Row): Iterator[T] = Pulled.andThen(add(row)) {
    val retry = if (lateRowsWait) operator.retry(operator.outcome) else null
    if (retry == null) report(row, operator.outcome)
    else {
      waiting += ((retry, row.copy()))
      Pulled.none
    }
  }

  /** @param time
    *   the time of the row before the rules, microseconds since 1970
    */
  private def drop(row: GroupInput.Row, reason: DeadLetterReason, time: Long): Iterator[T] =
    if (!spec.deadLetters) Pulled.none
    else {
      dropped.input.set(row.input)
      dropped.reason = reason
      dropped.time = Some(time)
      dropped.lateWatermark = row.context.watermark
      Pulled.one(side.deadLetter(dropped))
    }

  private def add(row: GroupInput.Row): Iterator[T] = {
    lateWatermark = row.context.watermark
    if (isOnClock) row.context.time = convention.timeIn(clock)
    add(row.key, row.value, row.context)
  }

  /** Adds the accumulators of a segment, which contains no late rows. */
  private def add(segment: GroupInput.Segment): Iterator[T] = {
    lateWatermark = segment.lateWatermark
    combined.watermark = segment.lateWatermark
    combined.slice = segment.slice
    addAll(new Cursor(Iterator.single(segment.bytes)))
  }

  private def addAll(accumulators: Cursor): Iterator[T] = {
    var results: Iterator[T] = Pulled.none
    while ((results eq Pulled.none) && accumulators.advance())
      results = add(accumulators.key, accumulators.accumulator, combined)
    if (results eq Pulled.none) results else results ++ addAll(accumulators)
  }

  private def add(key: ByteRange, value: ByteRange, context: RowContext): Iterator[T] = {
    if (savesFirstRow) {
      savesFirstRow = false
      store.saveFirstRow(clock)
    }
    context.clock = now
    if (bySource) context.firedBy = advance.before
    Pulled.andThen(group.reach(key, context)) {
      // The codec shares its rows, and windows that fire read others.
      val row = rows.codec.view(value)
      group.add(row, context, operators.weightOf(row))
    }
  }

  /** Counts a row by its outcome, and returns its row in a side output. */
  private def report(row: GroupInput.Row, outcome: RowOutcome): Iterator[T] = outcome match {
    case RowOutcome.Added => Pulled.none
    case RowOutcome.NoWindow =>
      counts.add(RowCounts.InGaps)
      Pulled.none
    case RowOutcome.Late =>
      counts.add(RowCounts.Late)
      if (spec.lateRows == LateRows.No) Pulled.none else late(row, reason)
    case RowOutcome.PartlyLate =>
      if (spec.lateRows != LateRows.Partly) Pulled.none
      else {
        counts.add(RowCounts.LatePartly)
        late(row, LateReason.LatePartly)
      }
    case RowOutcome.Ended =>
      counts.add(RowCounts.EndEdges)
      Pulled.none
    case RowOutcome.EndedLate =>
      counts.add(RowCounts.EndEdges)
      report(row, RowOutcome.PartlyLate)
    case RowOutcome.BadLifetime =>
      counts.add(DeadLetterReason.BadLifetime.count)
      drop(row, DeadLetterReason.BadLifetime, convention.timeOut(row.context.time))
  }

  private def late(row: GroupInput.Row, reason: LateReason): Iterator[T] = {
    import row.context
    Pulled.one(
      side.late(row.input, reason, operator.missedWindows, context.time, context.watermark))
  }

  override protected def finish(): Iterator[T] =
    addWaiting() ++ advanceTime() ++ side.reached(advance.after)

  private def addWaiting(): Iterator[T] = {
    val newestFirst =
      waiting.sortBy { case (retry, _) => -retry.end }.iterator.map { case (retry, row) =>
        operator.resume(retry)
        row
      }
    if (spec.window.lateStart == LateStart.Open) newestFirst.flatMap(addAndReport)
    else {
      val late = ArrayBuffer.empty[GroupInput.Row]
      newestFirst.flatMap(addOrKeep(_, late)) ++
        late.sortBy(_.context.time).iterator.flatMap(addAndReport)
    }
  }

  private def addAndReport(row: GroupInput.Row): Iterator[T] =
    Pulled.andThen(add(row))(report(row, operator.outcome))

  private def addOrKeep(row: GroupInput.Row, late: ArrayBuffer[GroupInput.Row]): Iterator[T] =
    Pulled.andThen(add(row)) {
      if (operator.outcome != RowOutcome.Late) report(row, operator.outcome)
      else {
        late += row
        Pulled.none
      }
    }

  private def advanceTime(): Iterator[T] = {
    // Windows in processing time fire too when the input ends.
    val isEnd = operators.timeline == Timeline.Clock && advance.after >= Timeline.EndOfTime
    val until = if (isEnd) Timeline.EndOfTime else now
    if (hasTicked) judge.tick(): Unit
    val before = if (isJudged) Watermark.NotYet else lateWatermark
    closedBy =
      if (operators.timeline == Timeline.Event) advance.after
      else if (hasTicked || isEnd) until
      else Watermark.NotYet
    val ofAllKeys =
      advance.copy(before = before).max(judge.advance.map(convention.watermarkIn))
    group.advance(ofAllKeys, until, hasTicked)
  }

  override protected def save(): Unit = {
    counts.add(RowCounts.WindowsFired, operator.fired - countedBefore)
    group.save()
    judge.save()
    if (spec.hasEdges) rowsOpen = Some(group.openRows)
  }
}
