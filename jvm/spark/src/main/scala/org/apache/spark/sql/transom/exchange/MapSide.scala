package org.apache.spark.sql.transom.exchange

import java.util.LinkedHashMap

import scala.collection.{AbstractIterator, mutable}
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.{FinalAggregation, PartialAggregation, UnsafeRows}
import org.apache.spark.sql.transom.batch.TaskWatermark
import org.apache.spark.sql.transom.planned._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.combine.{AccumulatorTables, MemoryUsage, SessionTables, SliceTables}
import transom.engine.judge.Judgement
import transom.engine.runtime._
import transom.engine.state.{ByteRange, KeyGroups, Limits}
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.{GridSlices, RowContext, SessionSlices}

/** The map side of a window operator in one batch, as sent to tasks.
  *
  * @param input
  *   the columns of the rows that the tasks read, under the operator's names
  * @param watermark
  *   the late watermark in microseconds since 1970; `Watermark.NotYet` if there is none
  */
final class MapSidePlan(
    val operatorPlan: WindowOperatorPlan,
    val input: Seq[Attribute],
    val watermark: Long)
    extends Serializable {

  /** The late watermark in the engine's convention. */
  val lateWatermark: Long = operatorPlan.convention.watermarkIn(watermark)

  /** Creates the map side of a task. */
  def create(): WindowMapSide =
    if (operatorPlan.substreams.isDefined) new SubstreamMapSide(this)
    else if (operatorPlan.hasMapSideCombine) new CombiningMapSide(this)
    else new RowMapSide(this)
}

/** The columns of input rows that the rules for rows read.
  *
  * @param input
  *   the columns of the rows
  * @param arrivalColumn
  *   the arrival time, if a policy needs it
  * @param substream
  *   the columns that identify a substream
  * @param partition
  *   the input partition as a string, if the policy names one
  * @param partitions
  *   the declared partitions; empty if all are known
  * @param windows
  *   reads the gap, the windows or the lifetime from the record of a row
  */
private[transom] final class RuledColumns(
    input: Seq[Attribute],
    timeColumn: Attribute,
    arrivalColumn: Option[Attribute],
    substream: Seq[Attribute],
    partition: Option[Attribute],
    partitions: Set[String],
    keyFailed: Option[Attribute],
    punctuation: Option[Attribute],
    windows: Option[RowWindowReader])
    extends RuledRow {
  private val timeAt = positionOf(timeColumn)
  private val arrivalAt = arrivalColumn.fold(-1)(positionOf)
  private val substreamAt = substream.map(positionOf).toArray
  private val partitionAt = partition.fold(-1)(positionOf)
  private val keyFailedAt = keyFailed.fold(-1)(positionOf)
  private val punctuationAt = punctuation.fold(-1)(positionOf)

  private var row: InternalRow = InternalRow.empty
  private var hasNullTime = false
  private var timeOfRow = 0L

  /** The record of the current row; null if its windows follow from its time. */
  var record: UnsafeRow = _

  /** Whether a rule of a policy has moved the time of the current row. */
  var isAdjusted: Boolean = false

  /** Moves to a row. */
  def pointTo(next: InternalRow): Unit = {
    row = next
    hasNullTime = row.isNullAt(timeAt)
    if (!hasNullTime) timeOfRow = row.getLong(timeAt)
  }

  override def lacksSubstream: Boolean = {
    var i = 0
    while (i < substreamAt.length && !row.isNullAt(substreamAt(i))) i += 1
    i < substreamAt.length
  }

  override def isOfUnknownPartition: Boolean =
    partitionAt >= 0 && (row.isNullAt(partitionAt) ||
      partitions.nonEmpty && !partitions(row.getUTF8String(partitionAt).toString))

  override def lacksTime: Boolean = hasNullTime || arrivalAt >= 0 && row.isNullAt(arrivalAt)

  override def time: Long = timeOfRow

  override def arrival: Long = if (arrivalAt < 0) 0L else row.getLong(arrivalAt)

  override def hasFailedKey: Boolean = keyFailedAt >= 0 && row.getBoolean(keyFailedAt)

  override def isPunctuation: Boolean = punctuationAt >= 0 && row.getBoolean(punctuationAt)

  override def windowProblem: Option[DeadLetterReason] =
    if (record == null) None else windows.get.problem(record, isAdjusted)

  private def positionOf(column: Attribute): Int = input.indexWhere(_.exprId == column.exprId)
}

/** Turns the input rows of one task into exchange rows. A subclass reads the rows. Not
  * thread-safe.
  *
  * @param order
  *   the columns that define the order of arrival
  */
abstract class MapSide(order: Seq[Attribute]) {
  protected val limits: Limits = TaskLimits.current
  protected val encoder = new ExchangeEncoder(order)

  /** Counts the input rows by outcome. */
  final val counts: RowCounts = new RowCounts
  protected var out: Iterator[InternalRow] = Iterator.empty

  /** Reads an input row. May set `out` to rows that are ready to be emitted. */
  protected def read(row: InternalRow): Unit

  /** The exchange rows that follow when no input row is left. */
  protected def last(): Iterator[InternalRow]

  /** Called when the consumer has exhausted the previous output iterator. */
  protected def onOutputExhausted(): Unit = ()

  /** Reads an input row, and returns the exchange rows that are ready. Exhaust them before the
    * next call. Each is valid until the next one is read.
    */
  final def push(row: InternalRow): Iterator[InternalRow] = {
    onOutputExhausted()
    out = Iterator.empty
    read(row)
    out
  }

  /** The exchange rows for all input rows of a task. Each is valid until the next one is read. */
  final def encode(rows: Iterator[InternalRow]): Iterator[InternalRow] =
    new AbstractIterator[InternalRow] {
      private var isOver = false

      override def hasNext: Boolean = {
        while (!out.hasNext && rows.hasNext) fill()
        if (!out.hasNext && !isOver) {
          isOver = true
          out = last()
        }
        out.hasNext
      }

      override def next(): InternalRow =
        if (hasNext) out.next() else throw new NoSuchElementException("no further row")

      /** Reads input rows until there is output or no row is left. */
      private def fill(): Unit = {
        onOutputExhausted()
        out = Iterator.empty
        while ((out eq Iterator.empty) && rows.hasNext) read(rows.next())
      }
    }
}

private object MapSide {
  final val NoInput = new ByteRange
}

/** Map side of a window operator.
  *
  * Counts the input rows, and turns rows that break a rule into dead letters. A subclass sends
  * all other rows. The last exchange row holds the counts.
  *
  * Behind a time stage, each row has a late watermark of its own, and the stage may have dropped
  * the row. The watermark of the time stage, or of the operator whose results are the rows, goes
  * to all key groups. Not thread-safe.
  */
abstract class WindowMapSide(plan: MapSidePlan) extends MapSide(plan.operatorPlan.order) {
  import plan.{input, operatorPlan}

  private val windows = new RowWindowReader(operatorPlan)
  private val columns = {
    val substreams = operatorPlan.substreams
    new RuledColumns(
      input,
      operatorPlan.time,
      substreams.map(_.arrival),
      substreams.toSeq.flatMap(_.keys.map(operatorPlan.keys)),
      partition = None,
      partitions = Set.empty,
      operatorPlan.keyFailed,
      substreams.flatMap(_.punctuation),
      Some(windows))
  }
  private val toKey = UnsafeProjection.create(operatorPlan.keys, input)
  // Null if the rows are combined. The windows of such rows follow from their times.
  private val toRecord =
    if (operatorPlan.hasMapSideCombine) null
    else UnsafeProjection.create(operatorPlan.record, input)
  private lazy val toInput = UnsafeProjection.create(operatorPlan.row, input)
  private val inputBytes = new ByteRange
  private val recordBytes = new ByteRange
  private val watermarkAt = operatorPlan.judgement.fold(-1)(of => positionOf(of.watermark))
  private val codeAt = operatorPlan.judgement.fold(-1)(of => positionOf(of.code))
  private val bySource = operatorPlan.judgement.exists(_.bySource)
  private val judgement = new Judgement
  // The watermark of the time stage or of the operator whose results are the rows; or null.
  private val upstream = operatorPlan.watermarkSource.map(TaskWatermark.of).orNull
  // Null if rows are not logged.
  private val rowLog = RowLog.of(operatorPlan)

  /** The watermark by which the current row is late, in the engine's convention. */
  protected var lateWatermark: Long = plan.lateWatermark

  /** How the watermark advances in this batch, in the engine's convention. Behind a time stage or
    * another operator, `before` is known once `startBatch` is called.
    */
  protected var advance: Advance = Advance.from(plan.lateWatermark)

  /** The late watermark of the current row, if it is not that of the whole batch. */
  protected final def ownWatermark: Option[Long] =
    if (codeAt < 0) None else Some(lateWatermark)

  protected val key = new ByteRange

  /** Whether rows have an event time. */
  protected val hasTime: Boolean = operatorPlan.spec.time.exists(_.isEventTime)

  /** Adds a row that breaks no rule. May set `out` to rows that are ready to be emitted.
    *
    * @param time
    *   the time of the row in the engine's convention
    */
  protected def add(row: InternalRow, time: Long): Unit

  /** Called when the watermark before the batch is known, behind a time stage or another
    * operator.
    */
  protected def startBatch(): Unit = ()

  /** Emits all rows that the task holds. */
  def drain(): Iterator[InternalRow]

  /** Emits all rows that the task holds and that are in windows that end by a watermark. May emit
    * others.
    *
    * @param watermark
    *   in the engine's convention
    */
  def drainUntil(watermark: Long): Iterator[InternalRow] = drain()

  /** Notes that windows have fired before the following rows.
    *
    * @param watermark
    *   the watermark by which they have fired, in the engine's convention
    */
  final def startAfter(watermark: Long): Unit = {
    advance = advance.copy(before = watermark)
    startBatch()
  }

  override protected def last(): Iterator[InternalRow] =
    drain() ++ watermarks ++ Iterator.single(counts).map(encoder.counts)

  override protected final def read(row: InternalRow): Unit = {
    if (upstream != null) follow()
    columns.pointTo(row)
    if (codeAt < 0) addPlain(row) else if (bySource) addBySource(row) else addJudged(row)
  }

  /** Follows the watermark of the time stage or operator that has just emitted a row. */
  private def follow(): Unit = {
    val before = operatorPlan.convention.watermarkIn(upstream.advance.before)
    if (before > advance.before) {
      lateWatermark = before
      startAfter(before)
    }
  }

  private def addPlain(row: InternalRow): Unit = {
    counts.add(RowCounts.In)
    RowRules.problemOfTime(columns) match {
      case None => addTimed(row)
      case Some(reason) => refuse(row, reason, None)
    }
  }

  /** Adds a row that no time stage has seen before it was judged. */
  private def addBySource(row: InternalRow): Unit =
    RowRules.problemOfTime(columns) match {
      case None => addJudged(row)
      case Some(reason) =>
        counts.add(RowCounts.In)
        lateWatermark = operatorPlan.convention.watermarkIn(row.getLong(watermarkAt))
        refuse(row, reason, None)
    }

  private def addJudged(row: InternalRow): Unit = {
    counts.add(RowCounts.In)
    val watermark = row.getLong(watermarkAt)
    lateWatermark = operatorPlan.convention.watermarkIn(watermark)
    judgement.read(columns.time, watermark, row.getLong(codeAt))
    judgement.count(counts)
    if (judgement.dropped != null) {
      val hasUsableTime = !columns.lacksTime && RowRules.isInRange(columns.time)
      emitDeadLetter(row, judgement.dropped, Option.when(hasUsableTime)(columns.time))
    } else if (!judgement.isPunctuation) {
      columns.isAdjusted = judgement.isAdjusted
      if (rowLog != null && judgement.isAdjusted)
        rowLog.moved(judgement.broken, columns.time, watermark)
      addTimed(row)
    }
  }

  /** Adds a row with a usable time. */
  private def addTimed(row: InternalRow): Unit = {
    if (toRecord != null) columns.record = toRecord(row)
    RowRules.problemOfWindow(columns) match {
      case None => add(row, operatorPlan.convention.timeIn(columns.time))
      case Some(reason) => refuse(row, reason, Option.when(hasTime)(columns.time))
    }
  }

  private def refuse(row: InternalRow, reason: DeadLetterReason, time: Option[Long]): Unit = {
    counts.add(reason.count)
    emitDeadLetter(row, reason, time)
  }

  private def watermarks: Iterator[InternalRow] = {
    if (upstream != null)
      advance = advance.max(upstream.advance.map(operatorPlan.convention.watermarkIn))
    if (advance.after == Watermark.NotYet) Iterator.empty
    else (0 until operatorPlan.keyGroups).iterator.map(encoder.watermark(_, advance))
  }

  protected final def positionOf(column: Attribute): Int =
    input.indexWhere(_.exprId == column.exprId)

  /** Logs a row that cannot be assigned to a window, and emits it as a dead letter, if the spec
    * requests this.
    *
    * @param time
    *   the time of the row in microseconds since 1970; none if it has no usable time
    */
  private def emitDeadLetter(
      row: InternalRow,
      reason: DeadLetterReason,
      time: Option[Long]): Unit = {
    if (rowLog != null)
      rowLog.dropped(reason.name, time, operatorPlan.convention.watermarkOut(lateWatermark))
    if (operatorPlan.deadLetters)
      out = Iterator.single(
        encoder.deadLetter(groupOf(row), reason, time, lateWatermark, toInput(row).getBytes))
  }

  /** The key group of a row. */
  protected def groupOf(row: InternalRow): Int = {
    readKey(row)
    groupOfKey
  }

  /** Points `key` at the key of a row. */
  protected final def readKey(row: InternalRow): Unit = UnsafeRows.bytesOf(toKey(row), key): Unit

  /** The record of the current row, if rows are not combined. Valid until the next row. */
  protected final def record: ByteRange = UnsafeRows.bytesOf(columns.record, recordBytes)

  /** Whether the windows that accept the current row do not follow from its time alone. */
  protected final def isPlacedFreely: Boolean = windows.isListed || columns.isAdjusted

  /** The whole input row for the side output, or nothing if the operator emits no input rows.
    * Valid until the next call.
    */
  protected final def inputOf(row: InternalRow): ByteRange =
    if (operatorPlan.reportsAccepted) UnsafeRows.bytesOf(toInput(row), inputBytes)
    else MapSide.NoInput

  protected final def groupOfKey: Int =
    KeyGroups.groupOf(KeyGroups.hash(key), operatorPlan.keyGroups)
}

/** Combines the on-time rows of a task into one accumulator per key and slice, or per key and
  * session. Emits the accumulators as sorted segments, batched by key group. Late rows cross the
  * exchange one by one.
  */
private final class CombiningMapSide(plan: MapSidePlan) extends WindowMapSide(plan) {
  import plan.{input, operatorPlan}

  private val router = new RowRouter(
    operatorPlan.slices,
    operatorPlan.layout == KeyedLayout,
    operatorPlan.spec.lateRows)
  private val aggregation = new PartialAggregation(operatorPlan, input)
  private lazy val merger = new FinalAggregation(operatorPlan)
  private val usage = new MemoryUsage
  private val onTime = newTables()

  // The rows that wait until windows have fired, by the end of these windows.
  private val waiting = mutable.LongMap.empty[AccumulatorTables]
  private val chunk = new RowChunk(limits.payload)

  // The growth of accumulators that hold objects is unknown. The size of their input columns is
  // the estimate.
  private lazy val toInputs = UnsafeProjection.create(operatorPlan.inputs, input)

  // `drain` encodes accumulators lazily, so the objects are cleared only after its iterator is
  // exhausted.
  override protected def onOutputExhausted(): Unit =
    if (onTime.isEmpty && waiting.valuesIterator.forall(_.isEmpty)) aggregation.clear()

  override protected def startBatch(): Unit = router.watermarkBefore = advance.before

  override protected def add(row: InternalRow, time: Long): Unit =
    router.route(time, lateWatermark) match {
      case Route.Combine => combine(row, time)
      case Route.InGap => counts.add(RowCounts.InGaps)
      case Route.Late => counts.add(RowCounts.Late)
      case Route.Alone => out = Iterator.single(alone(row, time, isPartlyLate = false))
      case Route.CombineAndReport =>
        combine(row, time)
        counts.add(RowCounts.LatePartly)
        out ++= Iterator.single(alone(row, time, isPartlyLate = true))
    }

  private def combine(row: InternalRow, time: Long): Unit = {
    readKey(row)
    val waitsFor = router.waitsFor(lateWatermark)
    val tables =
      if (waitsFor == Watermark.NotYet) onTime
      else waiting.getOrElseUpdate(waitsFor, newTables())
    val at = tables.locate(key, router.slice, time)
    aggregation.update(tables.array, at, row)
    if (!aggregation.inPlace) usage.bytes += toInputs(row).getSizeInBytes
    if (usage.bytes > limits.combined) out ++= drain()
  }

  private def newTables(): AccumulatorTables = operatorPlan.slices match {
    case _: GridSlices => new SliceTables(aggregation.initial, usage)
    case sessions: SessionSlices =>
      new SessionTables(sessions.gap, sessions.inclusive, aggregation.initial, usage, merger)
  }

  private def alone(row: InternalRow, time: Long, isPartlyLate: Boolean): InternalRow = {
    readKey(row)
    chunk.add(key, aggregation.accumulatorOf(row), inputOf(row), time, isPartlyLate, ownWatermark)
    encoder.rows(groupOfKey, chunk, advance.before)
  }

  override def drain(): Iterator[InternalRow] =
    drain(onTime, Watermark.NotYet) ++ drainWaiting()

  // Later rows of a slice then join the accumulators that are left, and its key groups do nothing
  // for it until its first window ends.
  override def drainUntil(watermark: Long): Iterator[InternalRow] = operatorPlan.slices match {
    case grids: GridSlices =>
      drain(onTime, Watermark.NotYet, grids.firstEndOf(_) <= watermark) ++ drainWaiting()
    case _: SessionSlices => drain()
  }

  private def drainWaiting(): Iterator[InternalRow] =
    waiting.iterator.flatMap { case (end, tables) => drain(tables, end) }

  private def drain(
      tables: AccumulatorTables,
      after: Long,
      takes: Long => Boolean = _ => true): Iterator[InternalRow] = {
    val segments = tables.drain(operatorPlan.keyGroups, takes)(aggregation.encode)
    // With a lateness, Real-Time Mode drains at each step of the watermark. Most end no slice.
    if (segments.isEmpty) Iterator.empty
    else {
      val batches = Array.fill(operatorPlan.keyGroups)(new SegmentBatch(limits.payload))
      def encoded(group: Int) =
        if (after == Watermark.NotYet) encoder.segments(group, batches(group), advance.before)
        else encoder.waitingSegments(group, batches(group), after)
      val full = for {
        (slice, group, segment) <- segments
        _ = batches(group).add(slice, segment)
        if batches(group).isFull
      } yield encoded(group)
      full ++ batches.indices.iterator.filterNot(batches(_).isEmpty).map(encoded)
    }
  }
}

/** Sends rows without combining them. Packs many rows of a key group into one chunk, in the order
  * in which they are read.
  */
private final class RowMapSide(plan: MapSidePlan) extends WindowMapSide(plan) {
  import plan.{input, operatorPlan}

  private val hasEdges = operatorPlan.spec.hasEdges
  private val toOrder =
    if (operatorPlan.order.isEmpty) None
    else Some(UnsafeProjection.create(operatorPlan.order, input))
  private val chunks = Array.fill(operatorPlan.keyGroups)(new RowChunk(limits.payload))
  // The key groups with rows since the last drain. In Real-Time Mode each row may cause a drain,
  // which must not look at all key groups.
  private val filled = mutable.BitSet.empty

  override protected def add(row: InternalRow, time: Long): Unit = {
    readKey(row)
    // The side output needs the whole input row, but only of rows that may be late, or edges that
    // match no other row.
    val mayBeLate = time < lateWatermark || isPlacedFreely || hasEdges
    val group = groupOfKey
    filled += group
    chunks(group).add(
      key,
      record,
      if (mayBeLate) inputOf(row) else MapSide.NoInput,
      if (hasTime) time else RowContext.NoTime,
      isPartlyLate = false,
      ownWatermark)
    toOrder match {
      // The exchange sorts these rows one by one, so each row needs its own exchange row.
      case Some(order) =>
        out = Iterator.single(encoder.rows(group, chunks(group), advance.before, order(row)))
      case None =>
        if (chunks(group).isFull)
          out = Iterator.single(encoder.rows(group, chunks(group), advance.before))
    }
  }

  override def drain(): Iterator[InternalRow] = {
    val groups = filled.toArray
    filled.clear()
    // A full chunk has been sent before.
    groups.iterator
      .filterNot(chunks(_).isEmpty)
      .map(group => encoder.rows(group, chunks(group), advance.before))
  }
}

/** Sends rows to the key group of their substream, in chunks that keep the order of arrival. The
  * operator judges the rows.
  *
  * With a late rule, sends the latest arrival of the task to all key groups, because it moves the
  * watermarks of all substreams.
  */
private final class SubstreamMapSide(plan: MapSidePlan) extends WindowMapSide(plan) {
  import plan.{input, operatorPlan}

  private val substreams = operatorPlan.substreams.get
  private val arrivalAt = positionOf(substreams.arrival)
  private val toSubstream = UnsafeProjection.create(operatorPlan.grouping, input)
  private val chunks =
    new OrderedChunks(operatorPlan.order, movesArrival = false, input, limits.payload, encoder)
  private val byGroup = Array.tabulate(operatorPlan.keyGroups)(chunks.chunkOf)
  // The key groups with rows since the last drain, as in `RowMapSide`.
  private val filled = mutable.BitSet.empty
  private val substream = new ByteRange
  private var latest = Watermark.NotYet

  override protected def add(row: InternalRow, time: Long): Unit = {
    latest = math.max(latest, row.getLong(arrivalAt))
    readKey(row)
    val group = groupOf(row)
    filled += group
    val chunk = byGroup(group)
    val sent = chunk.start(row)
    if (sent != null) out = Iterator.single(sent)
    chunk.rows.add(
      key,
      record,
      inputOf(row),
      operatorPlan.convention.timeOut(time),
      isPartlyLate = false,
      None)
  }

  override protected def groupOf(row: InternalRow): Int = {
    UnsafeRows.bytesOf(toSubstream(row), substream)
    KeyGroups.groupOf(KeyGroups.hash(substream), operatorPlan.keyGroups)
  }

  override def drain(): Iterator[InternalRow] = {
    val groups = filled.toArray
    filled.clear()
    groups.iterator.map(byGroup(_)).filterNot(_.rows.isEmpty).map(_.encoded()) ++ latestArrivals
  }

  private def latestArrivals: Iterator[InternalRow] =
    if (substreams.policy.late.isEmpty || latest == Watermark.NotYet) Iterator.empty
    else byGroup.indices.iterator.map(encoder.latestArrival(_, latest))
}

/** Map side of a time stage.
  *
  * Sends all rows to the key group of their source, in chunks that keep the order of arrival. Not
  * thread-safe.
  *
  * If windows follow, all rows go to the first key group. Each partition then has chunks of its
  * own. A row of a partition counts as arriving no earlier than the rows before it, so the order
  * within a partition and the order by arrival agree.
  *
  * If the rows stay with this task, only their times are sent, and the sum of the rows.
  *
  * @param input
  *   the columns of the rows, under the stage's names
  * @param split
  *   the number of this task in its stage
  */
final class TimeStageEncoder(plan: TimeStagePlan, input: Seq[Attribute], split: Int)
    extends MapSide(plan.order) {
  private val columns = new RuledColumns(
    input,
    plan.time,
    Some(plan.arrival),
    plan.over,
    plan.partition,
    plan.policy.partitions.toSet,
    plan.keyFailed,
    plan.punctuation,
    windows = None)
  private val partitionAt = plan.partition.fold(-1)(positionOf)
  private val hasSources = plan.source.nonEmpty
  private val toSource = UnsafeProjection.create(plan.source, input)
  private val toColumns =
    UnsafeProjection.create(plan.row ++ Seq.fill(JudgementColumns.count)(Literal(0L)), input)
  private val orderAt = plan.orderNumber.fold(-1)(positionOf)
  private var number = RowNumbers.first(split)
  private val arrivalInRow = plan.row.indexWhere(_.exprId == plan.arrival.exprId)
  private val chunks =
    new OrderedChunks(plan.order, plan.movesArrival, input, limits.payload, encoder)
  private val byGroup = Array.tabulate(plan.keyGroups)(chunks.chunkOf)
  private val byPartition = new LinkedHashMap[UTF8String, chunks.OrderedChunk]
  private val held = if (plan.holdsRows) Some(new RowsSum(plan, input)) else None
  private val source = new ByteRange
  private val value = new ByteRange

  override protected def last(): Iterator[InternalRow] =
    (byGroup.iterator ++ byPartition.values.asScala)
      .filterNot(_.isEmpty)
      .map(_.encoded()) ++ Iterator.single(counts).map(encoder.counts) ++
      held.iterator.map(encoder.readRows(group = 0, split, _))

  override protected def read(row: InternalRow): Unit = {
    counts.add(RowCounts.In)
    if (held.isDefined) held.get.add(row)
    if (hasSources) UnsafeRows.bytesOf(toSource(row), source)
    columns.pointTo(row)
    RowRules.problem(columns) match {
      case None => add(row, chunkOf(row))
      case Some(reason) =>
        counts.add(reason.count)
        val letter = if (plan.holdsRows) RowNumbers.bytesOf(number) else toColumns(row).getBytes
        out = Iterator.single(encoder.deadLetter(group, reason, None, Watermark.NotYet, letter))
    }
    number += 1
  }

  private def group: Int =
    if (plan.windows.isDefined) 0
    else KeyGroups.groupOf(KeyGroups.hash(source), plan.keyGroups)

  private def chunkOf(row: InternalRow): chunks.OrderedChunk =
    if (!plan.mergesPartitions) byGroup(group)
    else {
      val partition = row.getUTF8String(partitionAt)
      val found = byPartition.get(partition)
      if (found != null) found
      else {
        val chunk = chunks.chunkOf(group)
        // The bytes of the id may change.
        byPartition.put(partition.copy(), chunk)
        chunk
      }
    }

  private def add(row: InternalRow, chunk: chunks.OrderedChunk): Unit = {
    val sent = chunk.start(row)
    if (sent != null) out = Iterator.single(sent)
    if (plan.holdsRows) {
      val arrival = if (plan.movesArrival) chunk.arrival else columns.arrival
      chunk.times.add(source, number, columns.time, arrival, orderOf(row))
    } else {
      val written = toColumns(row)
      if (plan.movesArrival) written.setLong(arrivalInRow, chunk.arrival)
      UnsafeRows.bytesOf(written, value)
      chunk.rows.add(source, value, MapSide.NoInput, columns.time, isPartlyLate = false, None)
    }
  }

  private def orderOf(row: InternalRow): Long =
    if (orderAt < 0) 0L
    else if (row.isNullAt(orderAt)) RowTimes.NoOrder
    else row.getLong(orderAt)

  private def positionOf(column: Attribute): Int = input.indexWhere(_.exprId == column.exprId)
}
