package org.apache.spark.sql.transom.exchange

import java.nio.ByteBuffer

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import transom.engine.operator.{DeadLetterReason, RowCounts}
import transom.engine.state.KeyGroups
import transom.engine.time.Watermark

/** Writes rows in the exchange format. Each call overwrites the row that it returned before.
  *
  * @param orderColumns
  *   the user's order columns
  */
final class ExchangeEncoder(orderColumns: Seq[Attribute]) {
  import ExchangeEncoder._

  private val toExchangeRow = ExchangeFormat.projection(orderColumns)
  // Positions are unique across tasks: the number of the partition is in the upper bits.
  private var position = TaskContext.getPartitionId().toLong << 40

  /** Encodes a batch of segments, and empties the batch.
    *
    * @param lateWatermark
    *   the watermark by which rows of the batch are late, in the engine's convention
    */
  def segments(group: Int, batch: SegmentBatch, lateWatermark: Long): InternalRow =
    encode(group, ExchangeFormat.Segments, nextPosition(), batch.take(), lateWatermark)

  /** Encodes a batch of segments that wait until windows have fired, and empties the batch.
    *
    * @param after
    *   the instant until which windows fire first, in the engine's convention
    */
  def waitingSegments(group: Int, batch: SegmentBatch, after: Long): InternalRow =
    encode(group, ExchangeFormat.WaitingSegments, nextPosition(), batch.take(), after)

  /** Encodes the times of rows, and empties the buffer.
    *
    * @param order
    *   the values of the user's order columns
    */
  def times(group: Int, times: RowTimes, order: InternalRow): InternalRow =
    encode(group, ExchangeFormat.Rows, nextPosition(), times.take(), order = order)

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
    encode(group, ExchangeFormat.Rows, nextPosition(), chunk.take(), lateWatermark, order)

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
    val payload = ByteBuffer
      .allocate(DeadLetterHeader + input.length)
      .putInt(DeadLetterReason.all.indexOf(reason))
      .putInt(time.size)
      .putLong(time.getOrElse(0L))
      .put(input)
    encode(group, ExchangeFormat.DeadLetter, AnyPosition, payload.array, lateWatermark)
  }

  /** Encodes the counts of a task. The first key group receives them. */
  def counts(counts: RowCounts): InternalRow =
    encode(0, ExchangeFormat.Counts, AnyPosition, counts.bytes)

  /** Encodes a tick. */
  def tick(group: Int): InternalRow =
    encode(group, ExchangeFormat.Tick, Long.MaxValue, Array.emptyByteArray)

  /** The watermark by which windows fire.
    *
    * @param watermark
    *   in the engine's convention
    * @param withoutIdle
    *   the watermark that the idle timeout has not moved, in the engine's convention
    */
  def watermark(group: Int, watermark: Long, withoutIdle: Long): InternalRow =
    encode(
      group,
      ExchangeFormat.Watermark,
      Long.MaxValue,
      ByteBuffer.allocate(8).putLong(watermark).array,
      withoutIdle)

  /** The latest arrival of the rows of a task.
    *
    * @param arrival
    *   microseconds since 1970
    */
  def latestArrival(group: Int, arrival: Long): InternalRow =
    encode(
      group,
      ExchangeFormat.LatestArrival,
      AnyPosition,
      ByteBuffer.allocate(8).putLong(arrival).array)

  /** The sum of the rows that stay with a task.
    *
    * @param task
    *   the number of the task
    */
  def readRows(group: Int, task: Int, sum: RowsSum): InternalRow =
    encode(
      group,
      ExchangeFormat.ReadRows,
      AnyPosition,
      ByteBuffer.allocate(20).putInt(task).putLong(sum.rows).putLong(sum.sum).array)

  private def nextPosition(): Long = {
    position += 1
    position
  }

  private def encode(
      group: Int,
      kind: Int,
      position: Long,
      payload: Array[Byte],
      lateWatermark: Long = Watermark.NotYet,
      order: InternalRow = InternalRow.empty): InternalRow = {
    val columns = new Array[Any](ExchangeFormat.Payload + 1 + orderColumns.length)
    columns(ExchangeFormat.Group) = KeyGroups.idOf(group)
    columns(ExchangeFormat.Kind) = kind
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
  private final val AnyPosition = 0L
  private final val DeadLetterHeader = 16
}
