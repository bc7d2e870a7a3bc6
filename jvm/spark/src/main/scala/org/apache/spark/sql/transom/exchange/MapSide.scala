package org.apache.spark.sql.transom.exchange

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.batch.TaskWatermark
import org.apache.spark.sql.transom.operator.{TaskLimits, Verdict}

import transom.engine.operator.{DeadLetterReason, RowCounts, RowRules}
import transom.engine.state.{ByteRange, KeyGroups, Limits}
import transom.engine.time.Watermark

/** Iterator over the exchange rows of one map-side task.
  *
  * Counts the input rows and turns rows without a usable time into dead letters. A subclass
  * handles all other rows. The last exchange row holds the counts.
  *
  * Behind a time stage, each row has a late watermark of its own, and the stage may have dropped
  * the row. Rows with watermarks come between the input rows. The last watermark goes to all key
  * groups. Over the results of an operator with a time policy, the watermark of that operator
  * goes to all key groups. Not thread-safe.
  */
abstract class MapSide(plan: MapSidePlan, rows: Iterator[InternalRow])
    extends AbstractIterator[InternalRow] {
  import plan.{input, operatorPlan}

  protected val timeAt: Int = positionOf(operatorPlan.time)
  private val keyFailedAt = operatorPlan.keyFailed.fold(-1)(positionOf)
  private val toKey = UnsafeProjection.create(operatorPlan.keys, input)
  private lazy val toInput = UnsafeProjection.create(operatorPlan.row, input)
  private val inputBytes = new ByteRange
  private val noInput = new ByteRange
  protected val limits: Limits = TaskLimits.current
  private val watermarkAt = operatorPlan.stamp.fold(-1)(stamp => positionOf(stamp.watermark))
  private val verdictAt = operatorPlan.stamp.fold(-1)(stamp => positionOf(stamp.verdict))
  // The watermark of the operator whose results are the rows, if it moves the windows; or null.
  private val followed = operatorPlan.follows.map(TaskWatermark.of).orNull
  private var reached = Watermark.NotYet
  private var withoutIdle = Watermark.NotYet
  private var isFirst = true
  protected val encoder = new ExchangeEncoder(operatorPlan.order)

  /** The watermark by which the current row is late, in the engine's convention. */
  protected var lateWatermark: Long = plan.lateWatermark

  /** The watermark by which windows had fired before this batch, in the engine's convention.
    * Behind a time stage or another operator it is known once `startBatch` is called.
    */
  protected var firedBefore: Long = plan.lateWatermark

  /** The late watermark of the current row, if it is not that of the whole batch. */
  protected final def ownWatermark: Option[Long] =
    if (verdictAt < 0) None else Some(lateWatermark)

  /** Whether a rule has moved the time of the current row. */
  protected var isAdjusted: Boolean = false
  protected val key = new ByteRange
  protected val counts = new RowCounts
  // Null if rows are not logged.
  private val rowLog = RowLog.of(operatorPlan)
  protected var out: Iterator[InternalRow] = Iterator.empty
  private var isOver = false

  /** Whether rows have an event time. */
  protected val hasTime: Boolean = operatorPlan.settings.time.exists(_.isEventTime)

  /** Adds a row that has a usable time. May set `out` to rows that are ready to be emitted.
    *
    * @param time
    *   the time of the row in the engine's convention
    */
  protected def add(row: InternalRow, time: Long): Unit

  /** Why the source of a row is unusable; null if it is usable. */
  protected def sourceProblem(row: InternalRow): DeadLetterReason = null

  /** Whether a row is punctuation, if the operator judges the rows itself. */
  protected def isPunctuation(row: InternalRow): Boolean = false

  /** Called when `firedBefore` is known, behind a time stage or another operator. */
  protected def startBatch(): Unit = ()

  /** Emits all rows that the task holds. */
  protected def drain(): Iterator[InternalRow]

  /** Called when the consumer has exhausted the previous output iterator. */
  protected def onOutputExhausted(): Unit = ()

  override final def hasNext: Boolean = {
    while (!out.hasNext && rows.hasNext) fill()
    if (!out.hasNext && !isOver) {
      isOver = true
      out = drain() ++ watermarks ++ Iterator.single(counts).map(encoder.counts)
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
      if (followed != null) follow()
      if (verdictAt < 0) addPlain(row) else addStamped(row)
    }
  }

  /** Follows the watermark of the operator that has just emitted a result. */
  private def follow(): Unit = {
    val before = operatorPlan.convention.watermarkIn(followed.before)
    if (before > firedBefore) {
      lateWatermark = before
      firedBefore = before
      startBatch()
    }
  }

  private def addPlain(row: InternalRow): Unit = {
    counts.add(RowCounts.In)
    val reason = sourceProblem(row)
    if (reason != null) refuse(row, reason, None)
    else if (row.isNullAt(timeAt)) refuse(row, DeadLetterReason.NoTime, None)
    else {
      val time = row.getLong(timeAt)
      if (!RowRules.isInRange(time)) refuse(row, DeadLetterReason.TimeOutOfRange, None)
      else if (keyFailedAt >= 0 && row.getBoolean(keyFailedAt) && !isPunctuation(row))
        refuse(row, DeadLetterReason.KeyFailed, reported(time))
      else add(row, operatorPlan.convention.timeIn(time))
    }
  }

  private def addStamped(row: InternalRow): Unit = {
    val verdict = row.getLong(verdictAt)
    val watermark = row.getLong(watermarkAt)
    if (verdict == Verdict.Watermark) {
      reached = math.max(reached, watermark)
      withoutIdle = math.max(withoutIdle, row.getLong(timeAt))
    } else if (verdict == Verdict.FiredBefore) start(watermark)
    else {
      counts.add(RowCounts.In)
      lateWatermark = operatorPlan.convention.watermarkIn(watermark)
      if (isFirst && Verdict.isJudged(verdict)) start(watermark)
      if (!Verdict.isPlain(verdict)) Verdict.count(counts, verdict)
      Verdict.dropped(verdict) match {
        case None if Verdict.isPunctuation(verdict) =>
        case None => addAccepted(row, row.getLong(timeAt), watermark, verdict)
        case Some(reason) =>
          val time = if (row.isNullAt(timeAt)) None else Some(row.getLong(timeAt))
          emitDeadLetter(row, reason, time.filter(RowRules.isInRange))
      }
    }
  }

  private def addAccepted(row: InternalRow, time: Long, watermark: Long, verdict: Long): Unit = {
    isAdjusted = Verdict.isAdjusted(verdict)
    if (rowLog != null && isAdjusted)
      rowLog.moved(Verdict.rules(verdict), time, watermark)
    add(row, operatorPlan.convention.timeIn(time))
  }

  /** Starts a batch with the watermark of the batch before. The first judged row has met it. */
  private def start(watermark: Long): Unit = {
    isFirst = false
    firedBefore = operatorPlan.convention.watermarkIn(watermark)
    startBatch()
  }

  private def refuse(row: InternalRow, reason: DeadLetterReason, time: Option[Long]): Unit = {
    counts.add(reason.count)
    emitDeadLetter(row, reason, time)
  }

  /** The time of a dead letter, in microseconds since 1970. */
  protected final def reported(time: Long): Option[Long] = Option.when(hasTime)(time)

  private def watermarks: Iterator[InternalRow] = {
    if (followed != null) {
      reached = followed.reached
      withoutIdle = followed.withoutIdle
    }
    if (reached == Watermark.NotYet) Iterator.empty
    else {
      import operatorPlan.convention.watermarkIn
      (0 until operatorPlan.keyGroups).iterator
        .map(encoder.watermark(_, watermarkIn(reached), watermarkIn(withoutIdle)))
    }
  }

  private def positionOf(column: Attribute): Int = input.indexWhere(_.exprId == column.exprId)

  /** Logs a row that cannot be assigned to a window, and emits it as a dead letter, if the spec
    * requests this.
    *
    * @param time
    *   the time of the row in microseconds since 1970; none if it has no usable time
    */
  protected final def emitDeadLetter(
      row: InternalRow,
      reason: DeadLetterReason,
      time: Option[Long] = None): Unit = {
    if (rowLog != null)
      rowLog.dropped(reason.name, time, operatorPlan.convention.watermarkOut(lateWatermark))
    if (operatorPlan.deadLetters) {
      readKey(row)
      out = Iterator.single(
        encoder.deadLetter(groupOfKey, reason, time, lateWatermark, toInput(row).getBytes))
    }
  }

  /** Points `key` at the key of a row. */
  protected final def readKey(row: InternalRow): Unit = UnsafeRows.bytesOf(toKey(row), key): Unit

  /** The whole input row for the side output, or nothing if the operator emits no input rows.
    * Valid until the next call.
    */
  protected final def inputOf(row: InternalRow): ByteRange =
    if (operatorPlan.reportsAccepted) UnsafeRows.bytesOf(toInput(row), inputBytes) else noInput

  protected final def groupOfKey: Int =
    KeyGroups.groupOf(KeyGroups.hash(key), operatorPlan.keyGroups)
}
