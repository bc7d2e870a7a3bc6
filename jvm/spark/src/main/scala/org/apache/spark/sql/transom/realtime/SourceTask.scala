package org.apache.spark.sql.transom.realtime

import scala.collection.AbstractIterator

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.exchange.{ExchangeFormat, MapSidePlan, RuledColumns, WindowMapSide}
import org.apache.spark.sql.transom.planned._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.judge._
import transom.engine.runtime.RowRules
import transom.engine.spec.TimePolicy
import transom.engine.state.{ByteRange, KeyGroups, StateReader, StateWriter}
import transom.engine.time.Watermark
import transom.engine.window.{GridSlices, RowContext, SessionSlices}

/** The rows between the tasks that read sources and the operator.
  *
  * {{{
  * group      id of the key group, see KeyGroups.idOf
  * kind       what the message is
  * task       number of the task that reads the source
  * tasks      how many tasks read sources
  * source     identifies the source; null in rows, and while the task does not know its source
  * watermark  the watermark of the source by the rows of this batch, microseconds since 1970
  * arrival    the latest arrival by the rows of this batch, if a time policy needs it; microseconds
  *            since 1970
  * clock      the wall clock when the task sent the message, milliseconds since 1970
  * payload    the rows of `Rows` and `Seen`, see SourceRows; the exchange rows of `Combined`; the
  *            counts of `End`, in one of its messages; else null
  * }}}
  *
  * `Rows` and `Combined` go to the task of the operator that has their key groups. The other
  * messages go to all tasks. A message reaches a task as one for its first key group. Messages of
  * a task arrive in the order in which it has sent them. So an `End` says that all rows of its
  * task have come, and the operator has all rows of a batch once every task has sent one.
  */
object SourceMessage {
  final val Group = 0
  final val Kind = 1
  final val Task = 2
  final val Tasks = 3
  final val Source = 4
  final val Watermark = 5
  final val Arrival = 6
  final val Clock = 7
  final val Payload = 8

  /** Rows for one task of the operator. */
  final val Rows = 0

  /** The task has started, or knows its source now. */
  final val Begin = 1

  /** The watermark of the source has passed a time at which windows may fire. */
  final val Advanced = 2

  /** The task has sent all rows of the batch. */
  final val End = 3

  /** The wall clock has ticked. */
  final val Tick = 4

  /** A row that shows all tasks that its source is not silent, and which windows may be open. */
  final val Seen = 5

  /** Combined rows for one task of the operator, see `ExchangeFormat`. */
  final val Combined = 6

  val schema: StructType = new StructType()
    .add("group", IntegerType, nullable = false)
    .add("kind", IntegerType, nullable = false)
    .add("task", IntegerType, nullable = false)
    .add("tasks", IntegerType, nullable = false)
    .add("source", StringType)
    .add("watermark", LongType, nullable = false)
    .add("arrival", LongType, nullable = false)
    .add("clock", LongType, nullable = false)
    .add("payload", BinaryType)
}

/** The tasks that read sources, as sent to executors.
  *
  * @param operatorPlan
  *   the operator, whose `judgement` names the last two columns of `input`
  * @param input
  *   the columns of the rows, under the operator's names
  * @param source
  *   the column that identifies the source of a row; none if the number of the task does
  * @param policy
  *   judges the rows of a source; none if the windows follow the wall clock, or the watermarks of
  *   substreams, which the operator of a key group keeps
  * @param hasTimePolicy
  *   whether the query has a time policy. If not, `policy` stands for event time, whose watermark
  *   is Spark's: rows whose key has failed move it too, and a row behind it breaks no rule
  * @param arrival
  *   the arrival time of a row, in microseconds since 1970, if the policy needs it
  * @param reached
  *   a watermark that no source had passed before this batch, microseconds since 1970; none if
  *   the driver knows none
  * @param partitions
  *   number of tasks of the operator
  * @param clocks
  *   number of tasks that send ticks. They come after all tasks that read sources
  */
final case class SourceTasks(
    operatorPlan: WindowOperatorPlan,
    input: Seq[Attribute],
    source: Option[Attribute],
    policy: Option[TimePolicy],
    hasTimePolicy: Boolean,
    arrival: Option[Attribute],
    reached: Option[Long],
    partitions: Int,
    clocks: Int) {

  /** The messages of a task for its rows. */
  def messages(rows: Iterator[InternalRow]): Iterator[InternalRow] = new SourceTask(this, rows)

  /** The messages of a task for its ticks. */
  def ticks(ticks: Iterator[InternalRow]): Iterator[InternalRow] = {
    val message = newMessage()
    message.setInt(SourceMessage.Kind, SourceMessage.Tick)
    ticks.flatMap { _ =>
      message.setLong(SourceMessage.Clock, System.currentTimeMillis())
      Iterator.range(0, receivers).map { group =>
        message.setInt(SourceMessage.Group, KeyGroups.idOf(group))
        message
      }
    }
  }

  /** How many tasks of the operator have key groups. The first key groups are one of each. */
  private[realtime] def receivers: Int = math.min(operatorPlan.keyGroups, partitions)

  /** The rows that a task may combine; none if all rows must leave one by one. */
  private[realtime] def onTime: Option[OnTimeRows] =
    if (operatorPlan.layout == SliceLayout) OnTimeRows.of(operatorPlan.spec, reached) else None

  /** The map side of a task. */
  private[realtime] def newMapSide(): WindowMapSide =
    new MapSidePlan(operatorPlan, input, Watermark.NotYet).create()

  private[realtime] def newMessage(): SpecificInternalRow = {
    val message = new SpecificInternalRow(SourceMessage.schema)
    message.setInt(SourceMessage.Task, TaskContext.getPartitionId())
    message.setInt(SourceMessage.Tasks, TaskContext.get().numPartitions() - clocks)
    message.setLong(SourceMessage.Watermark, Watermark.NotYet)
    message.setLong(SourceMessage.Arrival, 0L)
    message
  }

  /** The columns that the rules for rows read. */
  private[realtime] def ruled: RuledColumns = new RuledColumns(
    input,
    operatorPlan.time,
    arrival,
    substream = Nil,
    partition = None,
    partitions = Set.empty,
    operatorPlan.keyFailed,
    punctuation = None,
    windows = None)
}

/** Sends the rows of a source. Each message overwrites the one before it.
  *
  * Rows that are on time whatever earlier batches have left are combined, as on the map side of
  * micro-batches (see `OnTimeRows`). They leave when the watermark of the source passes the end
  * of their windows, or the map side is full. So the operator adds an accumulator for each key
  * and slice, and not each row.
  *
  * All other rows leave one by one, each with the watermark that it has met. A message has a
  * cost, whatever its size. So rows wait for others, until their task of the operator has a full
  * message, or windows may fire, or the first one has waited for some milliseconds. So at the end
  * of a window few of its rows are left to process.
  */
private final class SourceTask(tasks: SourceTasks, rows: Iterator[InternalRow])
    extends AbstractIterator[InternalRow] {
  import tasks._

  private val toKey = UnsafeProjection.create(operatorPlan.grouping, input)
  private val columns = tasks.ruled
  private val watermarkAt = input.length - JudgementColumns.count
  private val sourceAt = source.fold(-1)(column => input.indexWhere(_.exprId == column.exprId))
  private val logic = policy.map(new TimePolicyLogic(_)).orNull
  private val own = new SourceWatermark
  private val judgement = new Judgement

  /** The stretch of time in which a watermark is. No window fires while it stays there. */
  private val stretchOf: Long => Long = operatorPlan.layout match {
    case SliceLayout =>
      operatorPlan.slices match {
        case grids: GridSlices =>
          watermark => grids.sliceOf(operatorPlan.convention.watermarkIn(watermark))
        case _: SessionSlices => Math.floorDiv(_, SourceTask.StepUs)
      }
    case KeyedLayout => Math.floorDiv(_, SourceTask.StepUs)
  }

  // Null if all rows leave one by one.
  private val onTime = tasks.onTime.orNull
  // Combines the rows that are on time. Null before the first one.
  private var mapSide: WindowMapSide = _
  // The exchange rows of the map side, for each task of the operator.
  private val combined = Array.fill(receivers)(new StateWriter)
  private val exchangeRow = new ByteRange
  private lazy val receiverOf = (0 until operatorPlan.keyGroups).map { group =>
    KeyGroups.idOf(group) -> group % receivers
  }.toMap

  private val message = newMessage()
  private val key = new ByteRange
  private var id: UTF8String =
    if (sourceAt < 0) UTF8String.fromString(TaskContext.getPartitionId().toString) else null
  // The stretch of time without firings in which the watermark of the last message is, if any.
  private var hasAdvanced = false
  private var stretch = 0L
  private var compared = Watermark.NotYet
  private var hasEnded = false
  // Null if the windows depend on no silence.
  private val seen = SeenRows.of(operatorPlan.spec).orNull
  private val rowsMayWait = operatorPlan.spec.rowsMayWait
  private val fullSize = TaskLimits.current.payload
  // The rows that wait, for each task of the operator, how many there are, and since when.
  private val waiting = Array.fill(receivers)(new SourceRows)
  private var waitingRows = 0
  private var waitingSinceMs = 0L
  private var out = toAll(SourceMessage.Begin)

  override def hasNext: Boolean = {
    while (!out.hasNext && !hasEnded) out = step()
    out.hasNext
  }

  override def next(): InternalRow =
    if (hasNext) out.next() else throw new NoSuchElementException("no further message")

  /** The messages about the watermark, about the next row, or about the end of the source. */
  private def step(): Iterator[InternalRow] =
    if (advances()) {
      hasAdvanced = true
      stretch = stretchOf(watermark)
      combinedUntil(watermark) ++ allWaiting ++ toAll(SourceMessage.Advanced)
    } else if (rows.hasNext) read(rows.next().asInstanceOf[UnsafeRow])
    else {
      hasEnded = true
      allCombined ++ allWaiting ++ end
    }

  /** Whether the watermark has passed a time at which windows may fire since the last message. */
  private def advances(): Boolean = {
    val reached = watermark
    // Most rows do not move the watermark.
    val hasMoved = reached != compared
    compared = reached
    hasMoved && !(hasAdvanced && stretchOf(reached) == stretch)
  }

  /** Reads a row, which meets the watermark of the rows before it. */
  private def read(row: UnsafeRow): Iterator[InternalRow] = {
    columns.pointTo(row)
    // Null for most rows. Joining an empty iterator would cost more than all else in this method.
    val first = if (id != null && seen == null) null else messagesBefore(row)
    val combines = onTime != null && RowRules.problem(columns).isEmpty &&
      onTime.contains(columns.time, watermark)
    val messages = if (combines) combine(row) else addWaiting(row)
    if (logic != null && hasTime)
      logic.judge(own, columns.time, columns.arrival, RowContext.NoEnd, judgement)
    if (first == null) messages else first ++ messages
  }

  /** Adds a row to those that cross the exchange together, in accumulators. */
  private def combine(row: UnsafeRow): Iterator[InternalRow] = {
    if (mapSide == null) mapSide = newMapSide()
    row.setLong(watermarkAt, watermark)
    // There are exchange rows if the map side is full.
    messagesOf(mapSide.push(row))
  }

  private def combinedUntil(watermark: Long): Iterator[InternalRow] =
    if (mapSide == null) Iterator.empty
    else messagesOf(mapSide.drainUntil(operatorPlan.convention.watermarkIn(watermark)))

  private def allCombined: Iterator[InternalRow] =
    if (mapSide == null) Iterator.empty else messagesOf(mapSide.drain())

  /** The messages with exchange rows. */
  private def messagesOf(exchangeRows: Iterator[InternalRow]): Iterator[InternalRow] =
    if (exchangeRows.isEmpty) Iterator.empty
    else
      exchangeRows.flatMap { row =>
        val to = receiverOf(row.getInt(ExchangeFormat.Group))
        UnsafeRows.bytesOf(row.asInstanceOf[UnsafeRow], exchangeRow)
        combined(to).array(exchangeRow.bytes, exchangeRow.offset, exchangeRow.length)
        if (combined(to).length >= fullSize) Iterator.single(combinedFor(to)) else Iterator.empty
      } ++ combined.indices.iterator.filterNot(combined(_).length == 0).map(combinedFor)

  private def combinedFor(to: Int): InternalRow =
    sent(SourceMessage.Combined, to, combined(to).take())

  /** Adds a row to those that wait for others, and then cross the exchange as they are. */
  private def addWaiting(row: UnsafeRow): Iterator[InternalRow] = {
    UnsafeRows.bytesOf(toKey(row), key)
    val to = KeyGroups.groupOf(KeyGroups.hash(key), operatorPlan.keyGroups) % receivers
    waiting(to).add(watermark, own.arrival, row)
    if (!rowsMayWait || haveWaited()) allWaiting
    else if (waiting(to).length >= fullSize) rowsFor(to)
    else Iterator.empty
  }

  /** Notes that one more row waits. Returns whether the first one has waited long enough. */
  private def haveWaited(): Boolean = {
    waitingRows += 1
    if (waitingRows == 1) {
      waitingSinceMs = System.currentTimeMillis()
      false
    } else {
      // A look at the clock has a cost, which matters where many rows come.
      val looks = waitingRows < SourceTask.RowsALook || waitingRows % SourceTask.RowsALook == 0
      looks && System.currentTimeMillis() - waitingSinceMs >= SourceTask.LongestWaitMs
    }
  }

  /** The messages that all tasks of the operator need before a row. */
  private def messagesBefore(row: UnsafeRow): Iterator[InternalRow] = {
    val identified = if (id == null) {
      id = row.getUTF8String(sourceAt).clone()
      toAll(SourceMessage.Begin)
    } else Iterator.empty
    val time = if (hasTime) columns.time else RowContext.NoTime
    if (seen == null || !seen.isSeen(time, System.currentTimeMillis())) identified
    else {
      val one = new SourceRows
      one.add(watermark, own.arrival, row)
      identified ++ toAll(SourceMessage.Seen, one.take())
    }
  }

  private def allWaiting: Iterator[InternalRow] = {
    waitingRows = 0
    waiting.indices.iterator.filterNot(waiting(_).isEmpty).flatMap(rowsFor)
  }

  private def rowsFor(to: Int): Iterator[InternalRow] =
    Iterator.single(to).map(sent(SourceMessage.Rows, _, waiting(to).take()))

  /** The messages about the end of the source. One of them has the counts of the map side. */
  private def end: Iterator[InternalRow] = {
    val counts = if (mapSide == null) null else mapSide.counts.bytes
    Iterator.range(0, receivers).map { to =>
      sent(SourceMessage.End, to, if (to == 0) counts else null)
    }
  }

  private def toAll(kind: Int, payload: Array[Byte] = null): Iterator[InternalRow] =
    Iterator.range(0, receivers).map(sent(kind, _, payload))

  /** Makes a message for a task of the operator the current one. */
  private def sent(kind: Int, to: Int, payload: Array[Byte]): InternalRow = {
    message.setInt(SourceMessage.Group, KeyGroups.idOf(to))
    message.setInt(SourceMessage.Kind, kind)
    message.update(SourceMessage.Source, id)
    message.setLong(SourceMessage.Watermark, watermark)
    message.setLong(SourceMessage.Arrival, own.arrival)
    message.setLong(SourceMessage.Clock, System.currentTimeMillis())
    message.update(SourceMessage.Payload, payload)
    message
  }

  /** Whether the row to which `columns` points has a time that moves the watermark. */
  private def hasTime: Boolean =
    RowRules.problemOfTime(columns).isEmpty && !(hasTimePolicy && columns.hasFailedKey)

  private def watermark: Long = if (logic == null) Watermark.NotYet else logic.watermarkOf(own)
}

private object SourceTask {

  /** How far a watermark moves before the operator hears of it, if the ends of windows are
    * unknown to the task: 10 ms. Each message has a cost, and results wait for it.
    */
  final val StepUs = 10000L

  /** How long a row waits for others, if other rows come. */
  final val LongestWaitMs = 2L

  /** Once so many rows wait, the task looks at the clock only after as many more. */
  final val RowsALook = 16
}

/** Buffers rows of a source, each with what its source has come to before it.
  *
  * {{{
  * for each row: the differences of the watermark and of the latest arrival to those of the row
  * before it, length of the row, row
  * }}}
  */
private final class SourceRows {
  private val written = new StateWriter
  private var watermark = 0L
  private var arrival = 0L
  private val bytes = new ByteRange

  def isEmpty: Boolean = length == 0

  /** The number of bytes. */
  def length: Int = written.length

  /** @param atWatermark
    *   the watermark before the row, see `SourceMessage`
    * @param atArrival
    *   the latest arrival before the row
    */
  def add(atWatermark: Long, atArrival: Long, row: UnsafeRow): Unit = {
    written.signed(atWatermark - watermark)
    written.signed(atArrival - arrival)
    UnsafeRows.bytesOf(row, bytes)
    written.array(bytes.bytes, bytes.offset, bytes.length)
    watermark = atWatermark
    arrival = atArrival
  }

  /** Returns a copy of all rows and removes them. */
  def take(): Array[Byte] = {
    watermark = 0L
    arrival = 0L
    written.take()
  }
}

/** Reads rows that `SourceRows` has written. The current row lies in their bytes. So it may be
  * changed, and the next one takes its place.
  *
  * @param columns
  *   number of columns of a row
  */
private final class SourceRowsReader(rows: Array[Byte], columns: Int)
    extends AbstractIterator[SourceRowsReader] {
  private val in = new StateReader(rows)

  /** The watermark before the current row. */
  var watermark: Long = 0L

  /** The latest arrival before the current row. */
  var arrival: Long = 0L
  val row: UnsafeRow = new UnsafeRow(columns)

  override def hasNext: Boolean = in.offset < rows.length

  override def next(): SourceRowsReader = {
    watermark += in.signed()
    arrival += in.signed()
    val length = in.skipArray()
    row.pointTo(rows, UnsafeRows.ArrayOffset + in.offset - length, length)
    this
  }
}

/** Reads the exchange rows of a message. The next row takes the place of the current one. */
private final class ExchangeRowsReader(rows: Array[Byte]) extends AbstractIterator[InternalRow] {
  private val in = new StateReader(rows)
  private val row = new UnsafeRow(ExchangeFormat.Payload + 1)

  override def hasNext: Boolean = in.offset < rows.length

  override def next(): InternalRow = {
    val length = in.skipArray()
    row.pointTo(rows, UnsafeRows.ArrayOffset + in.offset - length, length)
    row
  }
}
