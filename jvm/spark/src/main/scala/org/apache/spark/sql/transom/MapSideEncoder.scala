package org.apache.spark.sql.transom

import scala.collection.AbstractIterator

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

import transom.engine.state.{ByteRange, KeyGroups}

/** Iterator over the exchange rows of one map-side task. Reads input rows, counts them, turns
  * rows without a usable time into dead letters, and leaves all others to a subclass. Emits a row
  * of counts at the end. Not thread safe.
  */
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
  // Rows of different tasks sort in Spark's order of partitions.
  private var position = TaskContext.getPartitionId().toLong << 40

  /** Adds a row that has a usable time. May set `out` to rows that are ready to be emitted.
    *
    * @param time
    *   the time of the row in microseconds since 1970, minus `timeShift`
    */
  protected def add(row: InternalRow, time: Long): Unit

  /** Emits everything held and starts again empty. */
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

  /** Reads input rows until there is output or no row is left. */
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

  /** Emits a row that cannot be assigned to a window as a dead letter, if the spec requests dead
    * letters.
    *
    * @param time
    *   the time of the row in microseconds since 1970; none if it has no usable time
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

  /** The position of the next exchange row in the order of arrival. */
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

/** Constants of map-side tasks. */
private object MapSideEncoder {

  /** Bytes of accumulators that a task may hold. Above this limit it drains them. */
  final val MaxHeld = 64L << 20

  val noOrder: InternalRow = InternalRow.empty
}
