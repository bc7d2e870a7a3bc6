package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows

import transom.engine.operator.{DeadLetterReason, RowRules}
import transom.engine.state.{ByteRange, KeyGroups}
import transom.engine.time.Watermark

/** Map side that sends rows to the key group of their substream, in chunks that keep the order of
  * arrival. The operator judges the rows.
  *
  * Sends the latest arrival of the task to all key groups, because it moves the watermarks of all
  * substreams.
  */
private final class SubstreamMapSide(plan: MapSidePlan, rows: Iterator[InternalRow])
    extends MapSide(plan, rows) {
  import plan.{input, operatorPlan}

  private val substreams = operatorPlan.substreams.get
  private val arrivalAt = input.indexWhere(_.exprId == substreams.arrival.exprId)
  private val punctuationAt =
    substreams.punctuation.fold(-1)(column => input.indexWhere(_.exprId == column.exprId))
  private val substreamAt =
    substreams.keys.map(i => input.indexWhere(_.exprId == operatorPlan.keys(i).exprId)).toArray
  private val isKey = substreams.keys.length == operatorPlan.keys.length
  private val toSubstream =
    UnsafeProjection.create(substreams.keys.map(operatorPlan.keys), input)
  private val toRecord = UnsafeProjection.create(operatorPlan.record, input)
  private val toInput = UnsafeProjection.create(operatorPlan.row, input)
  private val emitsInput = operatorPlan.reportsLate || operatorPlan.deadLetters
  private val rowWindows = new RowWindowReader(operatorPlan)
  private val chunks =
    new OrderedChunks(operatorPlan.order, movesArrival = false, input, limits.payload, encoder)
  private val byGroup = Array.tabulate(operatorPlan.keyGroups)(chunks.chunkOf)
  private val substream = new ByteRange
  private val record = new ByteRange
  private val inputRow = new ByteRange
  private var latest = Watermark.NotYet

  override protected def sourceProblem(row: InternalRow): DeadLetterReason =
    if (lacksSubstream(row)) DeadLetterReason.NoSubstream
    else if (row.isNullAt(timeAt) || row.isNullAt(arrivalAt)) DeadLetterReason.NoTime
    else if (!RowRules.isInRange(row.getLong(arrivalAt))) DeadLetterReason.TimeOutOfRange
    else null

  private def lacksSubstream(row: InternalRow): Boolean = {
    var i = 0
    while (i < substreamAt.length && !row.isNullAt(substreamAt(i))) i += 1
    i < substreamAt.length
  }

  override protected def isPunctuation(row: InternalRow): Boolean =
    punctuationAt >= 0 && row.getBoolean(punctuationAt)

  override protected def add(row: InternalRow, time: Long): Unit = {
    val read = toRecord(row)
    val hostTime = operatorPlan.convention.timeOut(time)
    val problem = rowWindows.problem(read, isAdjusted = false)
    if (problem.isEmpty || isPunctuation(row)) send(row, read, hostTime)
    else {
      counts.add(problem.get.count)
      emitDeadLetter(row, problem.get, Some(hostTime))
    }
  }

  private def send(row: InternalRow, read: UnsafeRow, time: Long): Unit = {
    latest = math.max(latest, row.getLong(arrivalAt))
    readKey(row)
    val chunk = byGroup(if (isKey) groupOfKey else groupOfSubstream(row))
    val sent = chunk.start(row)
    if (sent != null) out = Iterator.single(sent)
    UnsafeRows.bytesOf(read, record)
    if (emitsInput) UnsafeRows.bytesOf(toInput(row), inputRow)
    chunk.rows.add(key, record, inputRow, time, isPartlyLate = false, None)
  }

  private def groupOfSubstream(row: InternalRow): Int = {
    UnsafeRows.bytesOf(toSubstream(row), substream)
    KeyGroups.groupOf(KeyGroups.hash(substream), operatorPlan.keyGroups)
  }

  override protected def drain(): Iterator[InternalRow] =
    byGroup.iterator.filterNot(_.rows.isEmpty).map(_.encoded()) ++ latestArrivals

  private def latestArrivals: Iterator[InternalRow] =
    if (latest == Watermark.NotYet) Iterator.empty
    else byGroup.indices.iterator.map(encoder.latestArrival(_, latest))
}
