package org.apache.spark.sql.transom.realtime

import scala.collection.AbstractIterator

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.exchange.RuledColumns
import org.apache.spark.sql.transom.planned.{KeyedLayout, SliceLayout, WindowOperatorPlan}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.judge.{Judgement, SeenRows, SourceWatermark, TimePolicyLogic}
import transom.engine.runtime.RowRules
import transom.engine.spec.TimePolicy
import transom.engine.state.{ByteRange, KeyGroups}
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
  * payload    the bytes of a row, in rows and `Seen`; null in other messages
  * }}}
  *
  * A row goes to its key group. The other messages go to the first key group of each task of the
  * operator. Messages of a task arrive in the order in which it has sent them. So an `End` says
  * that all rows of its task have come, and the operator has all rows of a batch once every task
  * has sent one.
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

  /** A row. */
  final val Row = 0

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

/** Sends the rows of a source with the watermark that each has met. Each message overwrites the
  * one before it.
  */
private final class SourceTask(tasks: SourceTasks, rows: Iterator[InternalRow])
    extends AbstractIterator[InternalRow] {
  import tasks._

  private val toKey = UnsafeProjection.create(operatorPlan.grouping, input)
  private val columns = tasks.ruled
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

  private val message = newMessage()
  private val key = new ByteRange
  private var id: UTF8String =
    if (sourceAt < 0) UTF8String.fromString(TaskContext.getPartitionId().toString) else null
  // The stretch of time without firings in which the watermark of the last message is.
  private var stretch = Option.empty[Long]
  private var compared = Watermark.NotYet
  private var hasEnded = false
  // The row that follows the messages about it.
  private var row: InternalRow = _
  private var isForAll = false
  // Null if the windows depend on no silence.
  private val seen = SeenRows.of(operatorPlan.spec).orNull

  // How many tasks of the operator have not received the current message.
  private var toSend = 0
  send(SourceMessage.Begin)

  override def hasNext: Boolean = toSend > 0 || !hasEnded

  override def next(): InternalRow =
    if (toSend > 0) {
      toSend -= 1
      message.setInt(SourceMessage.Group, KeyGroups.idOf(toSend))
      message
    } else if (row != null) {
      if (id == null) {
        id = row.getUTF8String(sourceAt).clone()
        send(SourceMessage.Begin)
        next()
      } else if (isForAll) {
        isForAll = false
        send(SourceMessage.Seen)
        message.update(SourceMessage.Payload, row.asInstanceOf[UnsafeRow].getBytes)
        next()
      } else {
        val last = row
        row = null
        ofRow(last)
      }
    } else if (advances()) {
      stretch = Some(stretchOf(watermark))
      send(SourceMessage.Advanced)
      next()
    } else if (rows.hasNext) {
      row = rows.next()
      isForAll = seen != null && seen.isSeen(timeOf(row), System.currentTimeMillis())
      next()
    } else if (!hasEnded) {
      hasEnded = true
      send(SourceMessage.End)
      next()
    } else throw new NoSuchElementException("no further message")

  /** Whether the watermark has passed a time at which windows may fire since the last message. */
  private def advances(): Boolean = {
    val reached = watermark
    // Most rows do not move the watermark.
    val hasMoved = reached != compared
    compared = reached
    hasMoved && !stretch.contains(stretchOf(reached))
  }

  /** Makes a message the current one, for each task of the operator. */
  private def send(kind: Int): Unit = {
    message.setInt(SourceMessage.Kind, kind)
    message.update(SourceMessage.Source, id)
    message.setLong(SourceMessage.Watermark, watermark)
    message.setLong(SourceMessage.Arrival, own.arrival)
    message.setLong(SourceMessage.Clock, System.currentTimeMillis())
    message.update(SourceMessage.Payload, null)
    toSend = receivers
  }

  private def timeOf(row: InternalRow): Long = {
    columns.pointTo(row)
    if (hasTime) columns.time else RowContext.NoTime
  }

  /** Whether the row to which `columns` points has a time that moves the watermark. */
  private def hasTime: Boolean =
    RowRules.problemOfTime(columns).isEmpty && !(hasTimePolicy && columns.hasFailedKey)

  private def watermark: Long = if (logic == null) Watermark.NotYet else logic.watermarkOf(own)

  private def ofRow(row: InternalRow): InternalRow = {
    UnsafeRows.bytesOf(toKey(row), key)
    val group = KeyGroups.groupOf(KeyGroups.hash(key), operatorPlan.keyGroups)
    message.setInt(SourceMessage.Group, KeyGroups.idOf(group))
    message.setInt(SourceMessage.Kind, SourceMessage.Row)
    message.update(SourceMessage.Source, null)
    message.setLong(SourceMessage.Watermark, watermark)
    message.setLong(SourceMessage.Arrival, own.arrival)
    message.setLong(SourceMessage.Clock, System.currentTimeMillis())
    message.update(SourceMessage.Payload, row.asInstanceOf[UnsafeRow].getBytes)
    if (logic != null) {
      columns.pointTo(row)
      if (hasTime)
        logic.judge(own, columns.time, columns.arrival, RowContext.NoEnd, judgement)
    }
    message
  }
}

private object SourceTask {

  /** How far a watermark moves before the operator hears of it, if the ends of windows are
    * unknown to the task: 10 ms. Each message has a cost, and results wait for it.
    */
  final val StepUs = 10000L
}
