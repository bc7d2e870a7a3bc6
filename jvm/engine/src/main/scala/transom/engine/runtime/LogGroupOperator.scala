package transom.engine.runtime

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import transom.engine.spec.{LateRows, WindowSpec}
import transom.engine.state.{AccumulatorMerger, ByteRange, KeyGroups}
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.{Global, SliceAssigner, TimeConvention}

/** The window operator of a key group whose state is a log.
  *
  * Late rows of sessions are tried after all other rows of the batch, from the newest to the
  * oldest. A row counts if it touches a session that is open at that time.
  *
  * @param log
  *   the log of the key group
  * @param merger
  *   computes the results
  */
final class LogGroupOperator[T](
    log: SegmentLog[T],
    spec: WindowSpec,
    slices: SliceAssigner,
    merger: AccumulatorMerger[T],
    side: SideRows[T],
    emissions: Emissions[T])
    extends KeyGroupOperator[T](emissions) {
  private val late = ArrayBuffer.empty[LateRow]
  // The segments that wait until the windows before them have fired, by the end of these windows.
  private val waiting = mutable.TreeMap.empty[Long, ArrayBuffer[(Long, Array[Byte])]]
  private val convention = TimeConvention.of(spec.window)
  private var lateWatermark = Watermark.NotYet
  private var advance = Advance.Unknown

  override def gauges: Option[Gauges] = {
    // The only window of `Global` has no start.
    val starts = if (spec.window == Global) None else log.openStarts
    val reached = convention.reached(advance.after)
    Option.when(reached.isDefined || starts.isDefined)(
      Gauges(watermark = reached, open = starts.flatten))
  }

  override def nextTimer: Long = convention.watermarkOut(log.nextTimer)

  override protected def handle(event: Event): Iterator[Unit] = {
    take(event)
    Iterator.empty
  }

  private def take(event: Event): Unit = event match {
    case segment: Event.Segment if segment.waits =>
      waiting.getOrElseUpdate(segment.lateWatermark, ArrayBuffer.empty) +=
        ((segment.slice, segment.bytes))
    case segment: Event.Segment =>
      log.append(segment.slice, segment.bytes, segment.lateWatermark)
    case row: Event.Row =>
      lateWatermark = row.arrival.watermark
      late += LogGroupOperator.lateRow(row)
    case letter: Event.DeadLetter => emissions.emit(side.deadLetter(letter))
    case task: Event.Counts =>
      counts.add(task.bytes)
      side.isFirst = true
    case advanced: Event.Advanced => advance = advance.max(advanced.advance)
    // Windows in processing time and over substreams need the keyed layout, and only a time stage
    // judges rows that stay with their tasks.
    case Event.Tick | _: Event.LatestArrival | _: Event.Punctuation | _: Event.ReadRows =>
  }

  override protected def finish(): Iterator[T] = {
    val missed = if (late.isEmpty) Nil else log.join(late.toSeq, lateWatermark)
    counts.add(RowCounts.Late, missed.count(!_.isPartly).toLong)
    val reported =
      if (spec.lateRows == LateRows.No) Iterator.empty else missed.iterator.map(report)
    reported ++ waiting.iterator.flatMap { case (end, segments) =>
      fire(end) ++ adding(segments, end)
    } ++ fire(advance.after) ++ side.reached(advance.after)
  }

  /** Adds segments when the iterator is read. */
  private def adding(segments: Iterable[(Long, Array[Byte])], end: Long): Iterator[T] =
    Iterator.single(()).flatMap { _ =>
      segments.foreach { case (slice, bytes) => log.append(slice, bytes, end) }
      Iterator.empty
    }

  private def report(row: LateRow): T =
    side.late(
      row.input,
      if (row.isPartly) LateReason.LatePartly else LateReason.of(spec.window),
      slices.missed(row.time, row.watermark),
      row.time,
      row.watermark)

  /** Fires the windows that end by `until` when the iterator is read. */
  private def fire(until: Long): Iterator[T] = Iterator.single(until).flatMap { until =>
    if (log.nextTimer > until) Iterator.empty
    else {
      merger.startFiring(convention.watermarkOut(until))
      log.fire(until)
    }
  }

  override protected def save(): Unit = {
    counts.add(RowCounts.WindowsFired, log.fired)
    log.save()
  }
}

private object LogGroupOperator {

  /** A late row that stays valid. */
  def lateRow(row: Event.Row): LateRow = {
    def kept(range: ByteRange) = new ByteRange().set(range)
    new LateRow(
      KeyGroups.hash(row.key),
      kept(row.key),
      row.arrival.time,
      kept(row.value),
      kept(row.input),
      row.isPartlyLate,
      row.arrival.watermark)
  }
}
