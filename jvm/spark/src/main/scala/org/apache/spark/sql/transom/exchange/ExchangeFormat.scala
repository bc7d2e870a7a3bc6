package org.apache.spark.sql.transom.exchange

import java.nio.ByteBuffer
import java.util.{Arrays, Comparator, PriorityQueue}

import scala.collection.AbstractIterator
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.planned.{TimeStagePlan, WindowOperatorPlan}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

import transom.engine.runtime.{DeadLetterReason, GroupInput, RowCounts}
import transom.engine.state.{ByteRange, KeyGroups, StateReader, StateWriter}
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.{Grid, RowContext}

/** The rows between the map side and the operator.
  *
  * {{{
  * group      id of the key group, see KeyGroups.idOf
  * kind       kind of the payload, see PayloadKind
  * position   position in the order of arrival
  * watermark  the watermark by which the rows are late, in the engine's convention; windows that
  *            end by it fire before waiting segments are added
  * payload    bytes
  * }}}
  *
  * The user's order columns follow, if there are any. The rest of this file first has the encoder
  * and the decoder of these rows. Then each payload has its writer and its reader.
  */
object ExchangeFormat {
  final val Group = 0
  final val Kind = 1
  final val Position = 2
  final val LateWatermark = 3
  final val Payload = 4

  private val columns = Seq(
    "group" -> IntegerType,
    "kind" -> IntegerType,
    "position" -> LongType,
    "watermark" -> LongType,
    "payload" -> BinaryType)

  /** The kind of an exchange row. Throws `IllegalStateException` if there is no such kind. */
  def kindOf(row: InternalRow): PayloadKind = PayloadKind.of(row.getInt(Kind))

  /** How the watermark advances by a row of the kind `Watermark`, in the engine's convention. */
  def advance(row: InternalRow): Advance =
    AdvanceNumbers.read(Numbers.read(row.getBinary(Payload)))

  /** Attributes of the exchange format, including the user's order columns. */
  def attributes(order: Seq[Attribute]): Seq[Attribute] =
    columns.map { case (name, dataType) =>
      AttributeReference(name, dataType, nullable = false)()
    } ++ order.map(_.newInstance().withNullability(true))

  /** Whether an order column holds numbers of 64 bits. */
  def isNumber(column: Attribute): Boolean =
    column.dataType == LongType || column.dataType == TimestampType

  /** The sort order by key group, with any order within a key group. */
  def byGroup(attributes: Seq[Attribute]): Seq[SortOrder] =
    Seq(SortOrder(attributes(Group), Ascending))

  /** The sort order by key group, and by arrival within a key group. */
  def inOrder(attributes: Seq[Attribute]): Seq[SortOrder] =
    (attributes(Group) +: attributes.drop(columns.length) :+ attributes(Position))
      .map(SortOrder(_, Ascending))

  /** A projection from the values of an exchange row to an `UnsafeRow`. The projection reuses
    * this row.
    */
  def projection(order: Seq[Attribute]): UnsafeProjection =
    InterpretedUnsafeProjection.createProjection(
      (columns.map(_._2) ++ order.map(_.dataType)).zipWithIndex.map { case (dataType, i) =>
        BoundReference(i, dataType, nullable = i >= columns.length)
      })
}

/** What an exchange row holds.
  *
  * @param code
  *   the number of the kind in the exchange row: its position in the list of all kinds
  */
sealed abstract class PayloadKind(val code: Int)

/** The kinds. */
object PayloadKind {

  /** A [[SegmentBatch]]. */
  case object Segments extends PayloadKind(0)

  /** A [[RowChunk]], or [[RowTimes]] if the rows stay with their task. */
  case object Rows extends PayloadKind(1)

  /** A dead letter, see [[DeadLetterBytes]]. */
  case object DeadLetter extends PayloadKind(2)

  /** The `RowCounts` of a task. */
  case object Counts extends PayloadKind(3)

  /** Nothing: a tick of the wall clock. */
  case object Tick extends PayloadKind(4)

  /** How the watermark advances by which windows fire, see [[AdvanceNumbers]]. */
  case object Watermark extends PayloadKind(5)

  /** A [[SegmentBatch]] that waits until windows have fired. */
  case object WaitingSegments extends PayloadKind(6)

  /** The latest arrival of a task, as one of [[Numbers]]. */
  case object LatestArrival extends PayloadKind(7)

  /** The number of a task, and the number and the sum of the rows that stay with it, as
    * [[Numbers]].
    */
  case object ReadRows extends PayloadKind(8)

  val all: IndexedSeq[PayloadKind] = Vector(
    Segments,
    Rows,
    DeadLetter,
    Counts,
    Tick,
    Watermark,
    WaitingSegments,
    LatestArrival,
    ReadRows)

  private val byCode = all.toArray

  def of(code: Int): PayloadKind =
    if (code >= 0 && code < byCode.length) byCode(code)
    else throw new IllegalStateException(s"no kind of exchange row has the code $code")
}

/** Writes rows in the exchange format. Each call overwrites the row that it returned before.
  *
  * @param orderColumns
  *   the user's order columns
  */
final class ExchangeEncoder(orderColumns: Seq[Attribute]) {
  import ExchangeEncoder.AnyPosition

  private val toExchangeRow = ExchangeFormat.projection(orderColumns)
  // Positions are unique across tasks: the number of the partition is in the upper bits.
  private var position = TaskContext.getPartitionId().toLong << 40

  /** Encodes a batch of segments, and empties the batch.
    *
    * @param lateWatermark
    *   the watermark by which rows of the batch are late, in the engine's convention
    */
  def segments(group: Int, batch: SegmentBatch, lateWatermark: Long): InternalRow =
    encode(group, PayloadKind.Segments, nextPosition(), batch.take(), lateWatermark)

  /** Encodes a batch of segments that wait until windows have fired, and empties the batch.
    *
    * @param after
    *   the instant until which windows fire first, in the engine's convention
    */
  def waitingSegments(group: Int, batch: SegmentBatch, after: Long): InternalRow =
    waitingSegments(group, batch.take(), after)

  /** Encodes segments that wait until windows have fired, from the payload of an exchange row. */
  def waitingSegments(group: Int, segments: Array[Byte], after: Long): InternalRow =
    encode(group, PayloadKind.WaitingSegments, nextPosition(), segments, after)

  /** Encodes the times of rows, and empties the buffer.
    *
    * @param order
    *   the values of the user's order columns
    */
  def times(group: Int, times: RowTimes, order: InternalRow): InternalRow =
    encode(group, PayloadKind.Rows, nextPosition(), times.take(), order = order)

  /** Encodes a chunk of rows, and empties the chunk.
    *
    * @param lateWatermark
    *   the watermark by which the rows are late that have no watermark of their own
    * @param order
    *   the values of the user's order columns, if the spec names any
    */
  def rows(
      group: Int,
      chunk: RowChunk,
      lateWatermark: Long,
      order: InternalRow = InternalRow.empty): InternalRow =
    encode(group, PayloadKind.Rows, nextPosition(), chunk.take(), lateWatermark, order)

  /** Encodes a dead letter.
    *
    * @param time
    *   the time of the row in microseconds since 1970; none if it has no usable time
    * @param lateWatermark
    *   the watermark that the row met, in the engine's convention
    * @param input
    *   bytes of the input row
    */
  def deadLetter(
      group: Int,
      reason: DeadLetterReason,
      time: Option[Long],
      lateWatermark: Long,
      input: Array[Byte]): InternalRow = {
    val payload = DeadLetterBytes.write(reason, time, input)
    encode(group, PayloadKind.DeadLetter, AnyPosition, payload, lateWatermark)
  }

  /** Encodes the counts of a task. The first key group receives them. */
  def counts(counts: RowCounts): InternalRow =
    encode(0, PayloadKind.Counts, AnyPosition, counts.bytes)

  /** Encodes a tick. */
  def tick(group: Int): InternalRow =
    encode(group, PayloadKind.Tick, Long.MaxValue, Array.emptyByteArray)

  /** How the watermark advances by which windows fire.
    *
    * @param advance
    *   in the engine's convention
    */
  def watermark(group: Int, advance: Advance): InternalRow = {
    val numbers = new Array[Long](AdvanceNumbers.Size)
    AdvanceNumbers.write(advance, numbers)
    encode(group, PayloadKind.Watermark, Long.MaxValue, Numbers.write(numbers.toSeq: _*))
  }

  /** The latest arrival of the rows of a task.
    *
    * @param arrival
    *   microseconds since 1970
    */
  def latestArrival(group: Int, arrival: Long): InternalRow =
    encode(group, PayloadKind.LatestArrival, AnyPosition, Numbers.write(arrival))

  /** The sum of the rows that stay with a task.
    *
    * @param task
    *   the number of the task
    */
  def readRows(group: Int, task: Int, sum: RowsSum): InternalRow =
    encode(
      group,
      PayloadKind.ReadRows,
      AnyPosition,
      Numbers.write(task.toLong, sum.rows, sum.sum))

  private def nextPosition(): Long = {
    position += 1
    position
  }

  private def encode(
      group: Int,
      kind: PayloadKind,
      position: Long,
      payload: Array[Byte],
      lateWatermark: Long = Watermark.NotYet,
      order: InternalRow = InternalRow.empty): InternalRow = {
    val columns = new Array[Any](ExchangeFormat.Payload + 1 + orderColumns.length)
    columns(ExchangeFormat.Group) = KeyGroups.idOf(group)
    columns(ExchangeFormat.Kind) = kind.code
    columns(ExchangeFormat.Position) = position
    columns(ExchangeFormat.LateWatermark) = lateWatermark
    columns(ExchangeFormat.Payload) = payload
    if (order ne InternalRow.empty)
      orderColumns.indices.foreach { i =>
        columns(ExchangeFormat.Payload + 1 + i) = order.get(i, orderColumns(i).dataType)
      }
    toExchangeRow(new GenericInternalRow(columns))
  }
}

private object ExchangeEncoder {
  final val AnyPosition = 0L
}

/** Reads the inputs of a key group from rows in the exchange format. Reuses the inputs.
  *
  * @param complete
  *   reads further properties of a row from its value: its gap, its windows or the end of its
  *   lifetime
  * @param merger
  *   merges chunks whose rows are in the order of arrival; none if exchange rows are read one
  *   after the other
  */
final class ExchangeDecoder private (
    complete: GroupInput.Row => Unit,
    merger: Option[OrderedChunkMerger]) {
  private val segment = new GroupInput.Segment
  private val row = new GroupInput.Row
  private val letter = new GroupInput.DeadLetter

  /** @param exchangeRows
    *   the exchange rows of the key group, sorted
    */
  def inputs(exchangeRows: Iterator[InternalRow]): Iterator[GroupInput] = merger match {
    case None => exchangeRows.flatMap(inputsOf)
    case Some(chunks) => chunks.inputs(exchangeRows, inputsOf)
  }

  private def inputsOf(exchangeRow: InternalRow): Iterator[GroupInput] = {
    val payload = exchangeRow.getBinary(ExchangeFormat.Payload)
    val lateWatermark = exchangeRow.getLong(ExchangeFormat.LateWatermark)
    ExchangeFormat.kindOf(exchangeRow) match {
      case PayloadKind.Segments => segments(payload, lateWatermark, waits = false)
      case PayloadKind.WaitingSegments => segments(payload, lateWatermark, waits = true)
      case PayloadKind.Rows => rows(new RowChunkReader(payload, row), lateWatermark)
      case PayloadKind.DeadLetter =>
        DeadLetterBytes.read(payload, letter)
        letter.lateWatermark = lateWatermark
        Iterator.single(letter)
      case PayloadKind.Counts => Iterator.single(new GroupInput.Counts(payload))
      case PayloadKind.Tick => Iterator.single(GroupInput.Tick)
      case PayloadKind.Watermark =>
        Iterator.single(new GroupInput.Advanced(ExchangeFormat.advance(exchangeRow)))
      case PayloadKind.LatestArrival =>
        Iterator.single(new GroupInput.LatestArrival(Numbers.read(payload)(0)))
      case PayloadKind.ReadRows =>
        val numbers = Numbers.read(payload)
        Iterator.single(new GroupInput.ReadRows(numbers(0).toInt, numbers(1), numbers(2)))
    }
  }

  private def segments(
      payload: Array[Byte],
      lateWatermark: Long,
      waits: Boolean): Iterator[GroupInput] =
    SegmentBatch.read(payload).map { case (slice, bytes) =>
      segment.lateWatermark = lateWatermark
      segment.waits = waits
      segment.slice = slice
      segment.bytes = bytes
      segment
    }

  private def rows(chunk: RowChunkReader, lateWatermark: Long): Iterator[GroupInput] =
    new AbstractIterator[GroupInput] {
      row.context.slice = Grid.NoSlice

      override def hasNext: Boolean = chunk.hasNext
      override def next(): GroupInput = {
        row.context.watermark = lateWatermark
        chunk.read()
        complete(row)
        row
      }
    }
}

/** Creates decoders. */
object ExchangeDecoder {

  /** The decoder of a window operator. With substreams, rows come in ordered chunks. */
  def of(plan: WindowOperatorPlan): ExchangeDecoder = {
    val windows = new RowWindowReader(plan)
    val merger = plan.substreams.map { substreams =>
      new OrderedChunkMerger(
        plan.record,
        plan.record.length,
        substreams.arrival,
        plan.order,
        substreams.punctuation,
        windows.read,
        holds = None)
    }
    new ExchangeDecoder(windows.read, merger)
  }

  /** The decoder of a time stage. */
  def of(plan: TimeStagePlan): ExchangeDecoder = {
    val complete = plan.end.fold[GroupInput.Row => Unit](_ => ())(readEnd(plan, _))
    val merger = new OrderedChunkMerger(
      plan.row,
      plan.width,
      plan.arrival,
      plan.order,
      plan.punctuation,
      complete,
      holds = Some(plan).filter(_.holdsRows))
    new ExchangeDecoder(complete, Some(merger))
  }

  /** Reads the end of a row's lifetime. A row whose end is unknown is a dead letter later. */
  private def readEnd(plan: TimeStagePlan, end: Attribute): GroupInput.Row => Unit = {
    val at = plan.row.indexWhere(_.exprId == end.exprId)
    val view = new UnsafeRow(plan.width)
    row => {
      view.pointTo(row.value.bytes, UnsafeRows.offset(row.value), row.value.length)
      row.context.end = if (view.isNullAt(at)) RowContext.NoEnd else view.getLong(at)
    }
  }
}

/** Buffers segments of one key group for the exchange, each with its slice. If there are many
  * slices, each segment holds few accumulators. An exchange row costs nearly the same whatever
  * its size, so many segments share one row.
  *
  * {{{
  * slice long, length long, segment
  * }}}
  *
  * @param fullSize
  *   the size in bytes at which the batch is full
  */
private final class SegmentBatch(fullSize: Int) {
  private val held = ArrayBuffer.empty[(Long, Array[Byte])]
  private var size = 0

  def isEmpty: Boolean = held.isEmpty

  def isFull: Boolean = size >= fullSize

  def add(slice: Long, segment: Array[Byte]): Unit = {
    held += ((slice, segment))
    size += SegmentBatch.HeaderSize + segment.length
  }

  /** Returns all segments and empties the batch. */
  def take(): Array[Byte] = {
    val out = ByteBuffer.allocate(size)
    held.foreach { case (slice, segment) =>
      out.putLong(slice).putLong(segment.length.toLong).put(segment)
    }
    held.clear()
    size = 0
    out.array
  }
}

private object SegmentBatch {
  private final val HeaderSize = 16

  /** The segments of a batch, each with its slice. */
  def read(bytes: Array[Byte]): Iterator[(Long, Array[Byte])] =
    new AbstractIterator[(Long, Array[Byte])] {
      private val in = ByteBuffer.wrap(bytes)
      override def hasNext: Boolean = in.hasRemaining
      override def next(): (Long, Array[Byte]) = {
        val slice = in.getLong()
        val length = in.getLong().toInt
        val from = in.position()
        in.position(from + length)
        (slice, Arrays.copyOfRange(bytes, from, from + length))
      }
    }
}

/** Buffers rows of one key group for the exchange, in the order in which they are read.
  *
  * {{{
  * key length int, value length int, input length int, flags int, time long,
  * late watermark of the row long, if flagged; key, value, input
  * }}}
  *
  * Flag 1 says that the row is partly late, and flag 2 that it has a late watermark of its own.
  * The value holds the columns that the engine reads, or the accumulator of the row. The whole
  * input row is present only if it may have to be emitted as a late row. Lengths are multiples of
  * 8.
  *
  * @param fullSize
  *   the size in bytes at which the chunk is full
  */
final class RowChunk(fullSize: Int) {
  private var held = Array.emptyByteArray
  private var position = 0

  def isEmpty: Boolean = position == 0

  def isFull: Boolean = position >= fullSize

  /** @param lateWatermark
    *   the watermark by which this row is late, in the engine's convention; none if it is that of
    *   the chunk
    */
  def add(
      key: ByteRange,
      value: ByteRange,
      input: ByteRange,
      time: Long,
      isPartlyLate: Boolean,
      lateWatermark: Option[Long]): Unit = {
    val needed = RowChunk.HeaderSize + 8 + key.length + value.length + input.length
    if (needed > held.length - position)
      held = Arrays.copyOf(
        held,
        math.max(RowChunk.Least, math.max(2 * held.length, Math.addExact(position, needed))))
    val at = UnsafeRows.ArrayOffset + position
    Platform.putInt(held, at, key.length)
    Platform.putInt(held, at + 4, value.length)
    Platform.putInt(held, at + 8, input.length)
    val flags = (if (isPartlyLate) RowChunk.PartlyLate else 0) |
      (if (lateWatermark.isDefined) RowChunk.OwnWatermark else 0)
    Platform.putInt(held, at + 12, flags)
    Platform.putLong(held, at + 16, time)
    position += RowChunk.HeaderSize
    // Without a closure, because this runs for every row.
    if (lateWatermark.isDefined) {
      Platform.putLong(held, at + RowChunk.HeaderSize, lateWatermark.get)
      position += 8
    }
    put(key)
    put(value)
    put(input)
  }

  private def put(part: ByteRange): Unit = {
    System.arraycopy(part.bytes, part.offset, held, position, part.length)
    position += part.length
  }

  /** Returns a copy of all rows and empties the chunk. */
  def take(): Array[Byte] = {
    val bytes = Arrays.copyOf(held, position)
    position = 0
    // A single large row must not occupy memory for the rest of the task.
    if (held.length > 2 * fullSize) held = Array.emptyByteArray
    bytes
  }
}

/** Reads the rows of a chunk into an input. The next row overwrites the input. */
final class RowChunkReader(chunk: Array[Byte], to: GroupInput.Row) {
  private var position = 0

  def hasNext: Boolean = position < chunk.length

  /** Reads the next row into the input. The chunk has no gap, windows or watermark of the row. */
  def read(): Unit = {
    val at = UnsafeRows.ArrayOffset + position
    position += RowChunk.HeaderSize
    val flags = Platform.getInt(chunk, at + 12)
    if ((flags & RowChunk.OwnWatermark) != 0) {
      to.context.watermark = Platform.getLong(chunk, at + RowChunk.HeaderSize)
      position += 8
    }
    point(to.key, Platform.getInt(chunk, at))
    point(to.value, Platform.getInt(chunk, at + 4))
    point(to.input, Platform.getInt(chunk, at + 8))
    to.isPartlyLate = (flags & RowChunk.PartlyLate) != 0
    to.context.time = Platform.getLong(chunk, at + 16)
  }

  private def point(part: ByteRange, length: Int): Unit = {
    part.set(chunk, position, length)
    position += length
  }
}

/** The format of a chunk. */
private object RowChunk {
  final val HeaderSize = 24
  final val PartlyLate = 1
  final val OwnWatermark = 2

  private final val Least = 1 << 10
}

/** Buffers the times of rows that stay with their map-side task, for the exchange.
  *
  * {{{
  * key of the source, and for each row its differences to the row before it:
  * number, time, arrival, order
  * }}}
  *
  * Neighbouring rows are alike, so most differences need one to three bytes. Not thread-safe.
  */
final class RowTimes {
  private val written = new StateWriter
  private var number = 0L
  private var time = 0L
  private var arrival = 0L
  private var order = 0L

  /** The number of bytes. */
  def length: Int = written.length

  /** Adds the times of a row.
    *
    * @param source
    *   key of the source, which is the same for all rows
    * @param rowNumber
    *   number of the row, see [[RowNumbers]]
    * @param rowOrder
    *   the order of the row besides its arrival; the same number for all rows if there is none
    */
  def add(
      source: ByteRange,
      rowNumber: Long,
      rowTime: Long,
      rowArrival: Long,
      rowOrder: Long): Unit = {
    if (length == 0) written.array(source.bytes, source.offset, source.length)
    written.signed(rowNumber - number)
    written.signed(rowTime - time)
    written.signed(rowArrival - arrival)
    written.signed(rowOrder - order)
    number = rowNumber
    time = rowTime
    arrival = rowArrival
    order = rowOrder
  }

  /** Returns a copy of the bytes, and empties the buffer. */
  def take(): Array[Byte] = {
    number = 0L
    time = 0L
    arrival = 0L
    order = 0L
    written.take()
  }
}

/** Reads what [[RowTimes]] has written. */
final class RowTimesReader(bytes: Array[Byte]) {
  private val in = new StateReader(bytes)
  private val sourceLength = in.skipArray()
  private val sourceAt = in.offset - sourceLength

  var number: Long = 0L
  var time: Long = 0L
  var arrival: Long = 0L
  var order: Long = 0L

  /** The key of the source of all rows. */
  def readSource(to: ByteRange): Unit = to.set(bytes, sourceAt, sourceLength): Unit

  def hasNext: Boolean = in.offset < bytes.length

  /** Moves to the next row. */
  def read(): Unit = {
    number += in.signed()
    time += in.signed()
    arrival += in.signed()
    order += in.signed()
  }
}

private object RowTimes {

  /** The order of a row whose order column is null. */
  final val NoOrder = Long.MinValue
}

/** A dead letter: the reason int, whether there is a time int, the time long, and the bytes of
  * the input row.
  */
private object DeadLetterBytes {
  private final val HeaderSize = 16

  def write(reason: DeadLetterReason, time: Option[Long], input: Array[Byte]): Array[Byte] =
    ByteBuffer
      .allocate(HeaderSize + input.length)
      .putInt(DeadLetterReason.all.indexOf(reason))
      .putInt(time.size)
      .putLong(time.getOrElse(0L))
      .put(input)
      .array

  def read(payload: Array[Byte], to: GroupInput.DeadLetter): Unit = {
    val in = ByteBuffer.wrap(payload)
    to.reason = DeadLetterReason.all(in.getInt())
    val hasTime = in.getInt() != 0
    val time = in.getLong()
    to.time = if (hasTime) Some(time) else None
    to.input.set(payload, in.position(), in.remaining()): Unit
  }
}

/** Numbers of 8 bytes. */
private object Numbers {
  def write(numbers: Long*): Array[Byte] = {
    val out = ByteBuffer.allocate(8 * numbers.length)
    numbers.foreach(out.putLong)
    out.array
  }

  def read(payload: Array[Byte]): Array[Long] = {
    val in = ByteBuffer.wrap(payload)
    Array.fill(payload.length / 8)(in.getLong())
  }
}

/** How a watermark advances, as three numbers: in an exchange row, and at the start of a record
  * of [[JudgementRecords]].
  */
private object AdvanceNumbers {
  final val Size = 3

  def write(advance: Advance, to: Array[Long]): Unit = {
    to(0) = advance.before
    to(1) = advance.after
    to(2) = advance.byRows
  }

  def read(numbers: Array[Long]): Advance = Advance(numbers(0), numbers(1), numbers(2))
}

/** Collects the rows of a map-side task in chunks whose rows are in the order of arrival.
  *
  * A chunk ends where a row comes before the previous one. So the rows of each chunk are sorted,
  * and [[OrderedChunkMerger]] merges chunks. Not thread-safe.
  *
  * @param order
  *   the columns that define the order of arrival; empty if rows keep the order in which they are
  *   read
  * @param movesArrival
  *   whether the first two columns of `order` are the arrival and the partition, and a row counts
  *   as arriving no earlier than the row before it
  * @param input
  *   the columns of the rows
  * @param fullSize
  *   the size in bytes at which a chunk is full
  */
private final class OrderedChunks(
    order: Seq[Attribute],
    movesArrival: Boolean,
    input: Seq[Attribute],
    fullSize: Int,
    encoder: ExchangeEncoder) {
  private val toOrder = UnsafeProjection.create(order, input)
  // Most orders are a single number, which is compared without a row for the order of each row.
  private val numberAt = order match {
    case Seq(column) if ExchangeFormat.isNumber(column) =>
      input.indexWhere(_.exprId == column.exprId)
    case _ => -1
  }
  private val ordering = {
    val ascending = order.zipWithIndex.map { case (column, i) =>
      SortOrder(BoundReference(i, column.dataType, nullable = true), Ascending)
    }
    RowOrdering.create(if (movesArrival) ascending.drop(2) else ascending, Nil)
  }

  /** Creates a chunk for rows of a key group. */
  def chunkOf(group: Int): OrderedChunk = new OrderedChunk(group)

  /** The rows of a key group that wait to be sent, and the order of the first and last of them.
    */
  final class OrderedChunk(group: Int) {
    val rows = new RowChunk(fullSize)

    /** What waits instead of `rows`, if the rows stay with their task. */
    val times = new RowTimes
    private var first = InternalRow.empty
    private val last: UnsafeRow = UnsafeRow.createFromByteArray(64, order.length)

    // The order of the last row instead of `last`, if it is a single number.
    private var lastNumber = 0L
    private var lastIsNull = false

    /** Whether there was a row before. Its order is also valid when the chunk is empty. */
    private var hasLast = false

    /** The arrival of the last row, if `movesArrival`. */
    def arrival: Long = last.getLong(0)

    /** Whether no row waits. */
    def isEmpty: Boolean = rows.isEmpty && times.length == 0

    private def isFull: Boolean = rows.isFull || times.length >= fullSize

    /** Makes room for a row. The caller adds the row to `rows` or `times` afterwards.
      *
      * @return
      *   the rows before it, if they are ready to be sent, else null. Valid until the next row is
      *   encoded.
      */
    def start(row: InternalRow): InternalRow =
      if (order.isEmpty) { if (isFull) encoded() else null }
      else {
        val isBefore = if (numberAt >= 0) advanceNumber(row) else advance(row)
        val sent = if (isFull || isBefore && !isEmpty) encoded() else null
        if (isEmpty) first = if (numberAt >= 0) toOrder(row).copy() else last.copy()
        sent
      }

    /** Makes `row` the last row. Returns whether it comes before the row before it. */
    private def advance(row: InternalRow): Boolean = {
      val next = toOrder(row)
      val isBefore = hasLast && ordering.compare(next, last) < 0
      if (movesArrival && hasLast && !isBefore)
        next.setLong(0, math.max(next.getLong(0), arrival))
      last.copyFrom(next)
      hasLast = true
      isBefore
    }

    /** As `advance`. Nulls come first. */
    private def advanceNumber(row: InternalRow): Boolean = {
      val isNull = row.isNullAt(numberAt)
      val number = if (isNull) 0L else row.getLong(numberAt)
      val isBefore = hasLast && !lastIsNull && (isNull || number < lastNumber)
      lastNumber = number
      lastIsNull = isNull
      hasLast = true
      isBefore
    }

    /** The rows that wait, as an exchange row. */
    def encoded(): InternalRow =
      if (times.length > 0) encoder.times(group, times, first)
      else encoder.rows(group, rows, Watermark.NotYet, first)
  }
}

/** Reads the inputs of a key group whose rows come in [[OrderedChunks]], in the order of arrival.
  * Reuses the inputs.
  *
  * The exchange sorts chunks by the order of their first rows. Chunks may overlap, so the merger
  * merges all chunks that have begun. Rows of equal order keep the order in which they were read.
  *
  * @param columns
  *   the columns of the value of a row
  * @param width
  *   the number of fields of the value; it may have more fields than `columns`
  * @param arrival
  *   the column with the arrival time, one of `columns`
  * @param order
  *   the columns that define the order of arrival, a part of `columns`
  * @param punctuation
  *   the column that says whether a row is punctuation, one of `columns`; none if no row is
  * @param complete
  *   reads further properties of a row that is no punctuation from its value
  * @param holds
  *   the stage whose rows stay with their tasks, if the chunks are [[RowTimes]]. The value of a
  *   row is then its number, and `columns` are the columns that order rows.
  */
private final class OrderedChunkMerger(
    columns: Seq[Attribute],
    width: Int,
    arrival: Attribute,
    order: Seq[Attribute],
    punctuation: Option[Attribute],
    complete: GroupInput.Row => Unit,
    holds: Option[TimeStagePlan]) {
  private val arrivalAt = positionOf(arrival)
  private val punctuationAt = punctuation.fold(-1)(positionOf)
  private val ordering = RowOrdering.create(
    order.map { column =>
      SortOrder(BoundReference(positionOf(column), column.dataType, nullable = true), Ascending)
    },
    Nil)
  private val comesFirst: Comparator[OpenChunk] = (a, b) => {
    val compared = if (order.isEmpty) 0 else ordering.compare(a.view, b.view)
    if (compared != 0) compared else java.lang.Long.compare(a.position, b.position)
  }

  /** @param rows
    *   the exchange rows of the key group, sorted
    * @param inputsOf
    *   reads an exchange row that is no chunk of rows
    */
  def inputs(
      rows: Iterator[InternalRow],
      inputsOf: InternalRow => Iterator[GroupInput]): Iterator[GroupInput] =
    new AbstractIterator[GroupInput] {
      // The chunk with the first row of all, and the other chunks that have begun. Most chunks do
      // not overlap, so `open` is usually empty.
      private var current: OpenChunk = _
      private val open = new PriorityQueue[OpenChunk](comesFirst)
      // The chunk after those.
      private var pending: OpenChunk = _
      // Inputs that have no place in the order; null if there is none.
      private var others: Iterator[GroupInput] = _
      // Whether the first row of `current` has been read.
      private var isRead = false

      override def hasNext: Boolean = {
        if (isRead) {
          isRead = false
          if (!current.advance()) current = open.poll()
          else if (!open.isEmpty && comesFirst.compare(open.peek(), current) < 0) {
            open.add(current)
            current = open.poll()
          }
        }
        openChunks()
        others != null || current != null
      }

      override def next(): GroupInput =
        if (!hasNext) throw new NoSuchElementException("no further input")
        else if (others != null) {
          val input = others.next()
          if (!others.hasNext) others = null
          input
        } else {
          isRead = true
          current.input
        }

      /** Opens all chunks that may hold the next row. */
      private def openChunks(): Unit = {
        var isSearching = true
        while (isSearching && others == null) {
          if (pending == null && rows.hasNext) read(rows.next())
          isSearching = pending != null &&
            (current == null || comesFirst.compare(pending, current) < 0)
          if (isSearching) {
            if (current != null) open.add(current)
            current = pending
            pending = null
          }
        }
      }

      private def read(exchangeRow: InternalRow): Unit =
        if (ExchangeFormat.kindOf(exchangeRow) == PayloadKind.Rows) pending = chunkOf(exchangeRow)
        else others = Some(inputsOf(exchangeRow)).filter(_.hasNext).orNull
    }

  private def chunkOf(exchangeRow: InternalRow): OpenChunk = {
    val position = exchangeRow.getLong(ExchangeFormat.Position)
    val payload = exchangeRow.getBinary(ExchangeFormat.Payload)
    val chunk =
      holds.fold[OpenChunk](new OpenRows(position, payload))(new OpenTimes(position, payload, _))
    chunk.advance(): Unit
    chunk
  }

  /** A chunk whose rows are being read, at its next row. */
  private abstract class OpenChunk(val position: Long) {
    protected val row = new GroupInput.Row

    /** The columns that order rows, among others. */
    def view: InternalRow

    /** The row, or the punctuation that it is. */
    def input: GroupInput = row

    /** Moves to the next row, if there is one. */
    def advance(): Boolean
  }

  private final class OpenRows(position: Long, payload: Array[Byte]) extends OpenChunk(position) {
    override val view = new UnsafeRow(width)
    private val asPunctuation = new GroupInput.Punctuation(row)
    private var isPunctuation = false
    private val reader = new RowChunkReader(payload, row)

    override def input: GroupInput = if (isPunctuation) asPunctuation else row

    override def advance(): Boolean = reader.hasNext && {
      reader.read()
      view.pointTo(row.value.bytes, UnsafeRows.offset(row.value), row.value.length)
      row.context.arrival = view.getLong(arrivalAt)
      isPunctuation = punctuationAt >= 0 && view.getBoolean(punctuationAt)
      if (!isPunctuation) complete(row)
      true
    }
  }

  private final class OpenTimes(position: Long, payload: Array[Byte], stage: TimeStagePlan)
      extends OpenChunk(position) {
    private val reader = new RowTimesReader(payload)
    private val number = RowNumbers.bytesOf(0L)
    private val orderAt = stage.orderNumber.fold(-1)(positionOf)
    reader.readSource(row.key)
    row.value.set(number, 0, number.length)
    private val shared = new SpecificInternalRow(columns.map(_.dataType))
    stage.partition.foreach { partition =>
      val key = new UnsafeRow(1)
      key.pointTo(payload, UnsafeRows.offset(row.key), row.key.length)
      shared.update(positionOf(partition), key.getUTF8String(0))
    }

    override def view: InternalRow = {
      shared.setLong(arrivalAt, reader.arrival)
      if (orderAt >= 0)
        if (reader.order == RowTimes.NoOrder) shared.setNullAt(orderAt)
        else shared.setLong(orderAt, reader.order)
      shared
    }

    override def advance(): Boolean = reader.hasNext && {
      reader.read()
      RowNumbers.write(reader.number, number)
      row.context.time = reader.time
      row.context.arrival = reader.arrival
      true
    }
  }

  private def positionOf(column: Attribute): Int = columns.indexWhere(_.exprId == column.exprId)
}
