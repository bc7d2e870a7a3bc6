package transom.engine.runtime

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import transom.engine.spec.{LateRows, WindowSpec}
import transom.engine.state.{AccumulatorMerger, ByteRange, KeyGroups, SegmentStore}
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.SliceAssigner

/** The window operator of a task whose state is logs.
  *
  * @param slices
  *   assigns rows to the slices of the logs
  * @param merger
  *   merges accumulators and computes results; all key groups share it
  * @param logOf
  *   opens the log of a key group over its stores
  */
final class LogTaskOperator[T](
    spec: WindowSpec,
    slices: SliceAssigner,
    merger: AccumulatorMerger[T],
    sideOutput: SideOutput[T],
    logOf: IndexedSeq[SegmentStore] => SegmentLog[T])
    extends TaskOperator[IndexedSeq[SegmentStore], T] {

  override def open(
      group: Int,
      stores: IndexedSeq[SegmentStore],
      clock: Long): KeyGroupOperator[T] = {
    val side = new SideRows(spec, sideOutput, clock)
    new LogGroupOperator(this, logOf(stores), spec, slices, merger, side)
  }
}

/** The window operator of a key group whose state is a log.
  *
  * Late rows of sessions are tried after all other rows of the batch, from the newest to the
  * oldest. A row counts if it touches a session that is open at that time.
  */
private final class LogGroupOperator[T](
    owner: TaskOperator[_, T],
    log: SegmentLog[T],
    spec: WindowSpec,
    slices: SliceAssigner,
    merger: AccumulatorMerger[T],
    side: SideRows[T])
    extends KeyGroupOperator[T](owner) {
  private val late = ArrayBuffer.empty[LateRow]
  // The segments that wait until the windows before them have fired, by the end of these windows.
  private val waiting = mutable.TreeMap.empty[Long, ArrayBuffer[(Long, Array[Byte])]]
  private val convention = spec.window.convention
  private var lateWatermark = Watermark.NotYet
  private var advance = Advance.Unknown

  override def gauges: Option[Gauges] = {
    // A window without end has no start.
    val starts = if (spec.window.isEndless) None else log.openStarts
    val reached = convention.reached(advance.after)
    Option.when(reached.isDefined || starts.isDefined)(
      Gauges(watermark = reached, open = starts.flatten))
  }

  override def nextTimer: Long = convention.watermarkOut(log.nextTimer)

  override protected def handle(input: GroupInput): Iterator[T] = {
    var results: Iterator[T] = Pulled.none
    input match {
      case segment: GroupInput.Segment if segment.waits =>
        waiting.getOrElseUpdate(segment.lateWatermark, ArrayBuffer.empty) +=
          ((segment.slice, segment.bytes))
      case segment: GroupInput.Segment =>
        log.append(segment.slice, segment.bytes, segment.lateWatermark)
      case row: GroupInput.Row =>
        lateWatermark = row.context.watermark
        late += copied(row)
      case letter: GroupInput.DeadLetter => results = Pulled.one(side.deadLetter(letter))
      case task: GroupInput.Counts =>
        counts.add(task.bytes)
        side.isFirst = true
      case advanced: GroupInput.Advanced => advance = advance.max(advanced.advance)
      // Windows in processing time and over substreams need the keyed layout, and only a time
      // stage judges rows that stay with their tasks.
      case GroupInput.Tick | _: GroupInput.LatestArrival | _: GroupInput.Punctuation |
          _: GroupInput.ReadRows =>
    }
    results
  }

  override protected def finish(): Iterator[T] = {
    val missed = if (late.isEmpty) Nil else log.join(late.toSeq, lateWatermark)
    counts.add(RowCounts.Late, missed.count(!_.isPartly).toLong)
    val reported =
      if (spec.lateRows == LateRows.No) Pulled.none else missed.iterator.map(report)
    reported ++ waiting.iterator.flatMap { case (end, segments) =>
      Pulled.andDo(fire(end)) {
        segments.foreach { case (slice, bytes) => log.append(slice, bytes, end) }
      }
    } ++ fire(advance.after) ++ side.reached(advance.after)
  }

  private def report(row: LateRow): T =
    side.late(
      row.input,
      if (row.isPartly) LateReason.LatePartly else LateReason.of(spec.window),
      slices.missed(row.time, row.watermark),
      row.time,
      row.watermark)

  /** Fires the windows that end by `until`. */
  private def fire(until: Long): Iterator[T] =
    if (log.nextTimer > until) Pulled.none
    else {
      merger.startFiring(convention.watermarkOut(until))
      log.fire(until)
    }

  /** A late row that stays valid. */
  private def copied(row: GroupInput.Row): LateRow = {
    def kept(range: ByteRange) = new ByteRange().set(range)
    new LateRow(
      KeyGroups.hash(row.key),
      kept(row.key),
      row.context.time,
      kept(row.value),
      kept(row.input),
      row.isPartlyLate,
      row.context.watermark)
  }

  override protected def save(): Unit = {
    counts.add(RowCounts.WindowsFired, log.fired)
    log.save()
  }
}
