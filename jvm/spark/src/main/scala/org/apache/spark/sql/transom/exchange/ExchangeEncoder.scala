package org.apache.spark.sql.transom.exchange

import java.nio.ByteBuffer

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.operator.WindowOperatorPlan

import transom.engine.operator.{DeadLetterReason, RowCounts}
import transom.engine.state.KeyGroups

/** Writes rows in the exchange format. Each call overwrites the row that it returned before.
  *
  * @param lateWatermark
  *   the watermark by which rows of this batch are late, in the engine's convention
  */
final class ExchangeEncoder(operatorPlan: WindowOperatorPlan, lateWatermark: Long) {
  import ExchangeEncoder._

  private val toExchangeRow = ExchangeFormat.projection(operatorPlan.order)
  // Rows of different tasks sort in Spark's order of partitions.
  private var position = TaskContext.getPartitionId().toLong << 40

  def segments(group: Int, batch: SegmentBatch): InternalRow =
    encode(group, ExchangeFormat.Segments, nextPosition(), batch.take())

  /** @param order
    *   the values of the user's order columns, if the spec names any
    */
  def rows(group: Int, chunk: RowChunk, order: InternalRow = NoOrder): InternalRow =
    encode(group, ExchangeFormat.Rows, nextPosition(), chunk.take(), order)

  /** @param time
    *   the time of the row in microseconds since 1970; none if it has no usable time
    * @param input
    *   bytes of the input row
    */
  def deadLetter(
      group: Int,
      reason: DeadLetterReason,
      time: Option[Long],
      input: Array[Byte]): InternalRow = {
    val payload = ByteBuffer
      .allocate(DeadLetterHeader + input.length)
      .putInt(reason.code)
      .putInt(time.size)
      .putLong(time.getOrElse(0L))
      .put(input)
    encode(group, ExchangeFormat.DeadLetter, AnyPosition, payload.array)
  }

  /** The counts of a task. They go to the first key group. */
  def counts(counts: RowCounts): InternalRow =
    encode(0, ExchangeFormat.Counts, AnyPosition, counts.bytes)

  /** A tick comes after all rows of the batch. */
  def tick(group: Int): InternalRow =
    encode(group, ExchangeFormat.Tick, Long.MaxValue, Array.emptyByteArray)

  private def nextPosition(): Long = {
    position += 1
    position
  }

  private def encode(
      group: Int,
      kind: Int,
      position: Long,
      payload: Array[Byte],
      order: InternalRow = NoOrder): InternalRow = {
    val columns = new Array[Any](ExchangeFormat.Payload + 1 + operatorPlan.order.length)
    columns(ExchangeFormat.Group) = KeyGroups.idOf(group)
    columns(ExchangeFormat.Kind) = kind
    columns(ExchangeFormat.Position) = position
    columns(ExchangeFormat.LateWatermark) = lateWatermark
    columns(ExchangeFormat.Payload) = payload
    if (order ne NoOrder)
      operatorPlan.order.indices.foreach { i =>
        columns(ExchangeFormat.Payload + 1 + i) = order.get(i, operatorPlan.order(i).dataType)
      }
    toExchangeRow(new GenericInternalRow(columns))
  }
}

private object ExchangeEncoder {
  val NoOrder: InternalRow = InternalRow.empty

  private final val AnyPosition = 0L
  private final val DeadLetterHeader = 16
}
