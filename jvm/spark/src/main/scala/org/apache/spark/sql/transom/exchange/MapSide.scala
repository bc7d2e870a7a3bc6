package org.apache.spark.sql.transom.exchange

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.operator.TaskLimits

import transom.engine.operator.{DeadLetterReason, RowCounts, RowRules}
import transom.engine.state.{ByteRange, KeyGroups, Limits}

/** Iterator over the exchange rows of one map-side task. Reads input rows, counts them, turns
  * rows without a usable time into dead letters, and leaves all others to a subclass. Emits a row
  * of counts at the end. Not thread-safe.
  */
abstract class MapSide(plan: MapSidePlan, rows: Iterator[InternalRow])
    extends AbstractIterator[InternalRow] {
  import plan.{input, operatorPlan}

  private val timeAt = input.indexWhere(_.exprId == operatorPlan.time.exprId)
  private val toKey = UnsafeProjection.create(operatorPlan.keys, input)
  private lazy val toInput = UnsafeProjection.create(operatorPlan.row, input)
  private val inputBytes = new ByteRange
  private val noInput = new ByteRange
  protected val limits: Limits = TaskLimits.current
  protected val encoder = new ExchangeEncoder(operatorPlan, plan.lateWatermark)
  protected val key = new ByteRange
  protected val counts = new RowCounts
  protected var out: Iterator[InternalRow] = Iterator.empty
  private var isOver = false

  /** Adds a row that has a usable time. May set `out` to rows that are ready to be emitted.
    *
    * @param time
    *   the time of the row in the engine's convention
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
      out = drain() ++ Iterator.single(counts).map(encoder.counts)
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
      counts.add(RowCounts.In)
      if (row.isNullAt(timeAt)) {
        counts.add(RowCounts.WithoutTime)
        emitDeadLetter(row, DeadLetterReason.NoTime)
      } else {
        val time = row.getLong(timeAt)
        if (RowRules.isInRange(time)) add(row, operatorPlan.convention.timeIn(time))
        else {
          counts.add(RowCounts.OutOfRange)
          emitDeadLetter(row, DeadLetterReason.TimeOutOfRange)
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
      reason: DeadLetterReason,
      time: Option[Long] = None): Unit =
    if (operatorPlan.deadLetters) {
      readKey(row)
      out = Iterator.single(encoder.deadLetter(groupOfKey, reason, time, toInput(row).getBytes))
    }

  /** Points `key` at the key of a row. */
  protected final def readKey(row: InternalRow): Unit = UnsafeRows.bytesOf(toKey(row), key): Unit

  /** The whole row if late rows are wanted, for a row that may be late; valid until the next
    * call.
    */
  protected final def inputOf(row: InternalRow): ByteRange =
    if (operatorPlan.reportsLate) UnsafeRows.bytesOf(toInput(row), inputBytes) else noInput

  protected final def groupOfKey: Int =
    KeyGroups.groupOf(KeyGroups.hash(key), operatorPlan.keyGroups)
}
