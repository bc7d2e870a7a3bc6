package org.apache.spark.sql.transom

import scala.collection.AbstractIterator

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

import transom.engine.KeyGroups
import transom.engine.log.ByteRange

/** The map side of one task. */
abstract class MapSideEncoder(plan: MapSidePlan, rows: Iterator[InternalRow])
    extends AbstractIterator[InternalRow] {
  import plan.{input, lateWatermark, operatorPlan}

  private val timeAt = input.indexWhere(_.exprId == operatorPlan.time.exprId)
  protected val toKey: UnsafeProjection = UnsafeProjection.create(operatorPlan.keys, input)
  protected val key = new ByteRange
  protected val counts = new RowCounts
  protected lazy val toRow: UnsafeProjection = UnsafeProjection.create(operatorPlan.row, input)
  private val toExchangeRow = ExchangeFormat.projection(operatorPlan.order)

  protected var out: Iterator[InternalRow] = Iterator.empty
  private var isOver = false
  // Tasks follow each other as they do in Spark's own order of partitions.
  private var position = TaskContext.getPartitionId().toLong << 40

  /** Takes a row.
    *
    * @param time
    *   as the engine counts
    */
  protected def add(row: InternalRow, time: Long): Unit

  /** All that is held; what comes next begins anew. */
  protected def drain(): Iterator[InternalRow]

  /** Called when the consumer has exhausted the previous output iterator. */
  protected def onOutputExhausted(): Unit = ()

  override final def hasNext: Boolean = {
    while (!out.hasNext && rows.hasNext) fill()
    if (!out.hasNext && !isOver) {
      isOver = true
      out = drain() ++ Iterator.single(exchangeRow(0, ExchangeFormat.Counts, 0L, counts.bytes))
    }
    out.hasNext
  }

  override final def next(): InternalRow =
    if (hasNext) out.next() else throw new NoSuchElementException("no further row")

  /** Takes rows until there is something to hand on, or none is left. */
  private def fill(): Unit = {
    onOutputExhausted()
    out = Iterator.empty
    while ((out eq Iterator.empty) && rows.hasNext) {
      val row = rows.next()
      counts.in += 1
      if (row.isNullAt(timeAt)) {
        counts.withoutTime += 1
        emitDeadLetter(row, DeadLetter.NoTime)
      } else {
        val time = row.getLong(timeAt)
        if (DeadLetter.isInRange(time)) add(row, time - operatorPlan.timeShift)
        else {
          counts.outOfRange += 1
          emitDeadLetter(row, DeadLetter.TimeOutOfRange)
        }
      }
    }
  }

  /** Hands a row on that no window can take, if that is asked for.
    *
    * @param time
    *   in microseconds, as far as it has one that can be used
    */
  protected final def emitDeadLetter(
      row: InternalRow,
      reason: Int,
      time: Option[Long] = None): Unit =
    if (operatorPlan.deadLetters) {
      UnsafeRows.bytesOf(toKey(row), key)
      val record = DeadLetter.write(reason, time, toRow(row).getBytes)
      out = Iterator.single(exchangeRow(groupOfKey, ExchangeFormat.DeadLetter, 0L, record))
    }

  /** Where what is handed on now stands in the order of arrival. */
  protected final def nextPosition(): Long = {
    position += 1
    position
  }

  protected final def groupOfKey: Int =
    KeyGroups.groupOf(LateRecord.hash(key), operatorPlan.keyGroups)

  protected final def exchangeRow(
      group: Int,
      kind: Int,
      position: Long,
      payload: Array[Byte],
      order: InternalRow = MapSideEncoder.noOrder): InternalRow = {
    val columns = new Array[Any](ExchangeFormat.Payload + 1 + operatorPlan.order.length)
    columns(ExchangeFormat.Group) = KeyGroups.idOf(group)
    columns(ExchangeFormat.Kind) = kind
    columns(ExchangeFormat.Position) = position
    columns(ExchangeFormat.LateWatermark) = lateWatermark
    columns(ExchangeFormat.Payload) = payload
    if (order ne MapSideEncoder.noOrder)
      operatorPlan.order.indices.foreach { i =>
        columns(ExchangeFormat.Payload + 1 + i) = order.get(i, operatorPlan.order(i).dataType)
      }
    toExchangeRow(new GenericInternalRow(columns))
  }
}

private object MapSideEncoder {

  /** Bytes of records that a task holds before it hands them on. */
  final val MaxHeld = 64L << 20

  val noOrder: InternalRow = InternalRow.empty
}
