package org.apache.spark.sql.transom.exchange

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.operator.{StampColumns, TaskLimits, TimeStagePlan}

import transom.engine.operator.{DeadLetterReason, RowCounts, RowRules}
import transom.engine.state.{ByteRange, KeyGroups, Limits}
import transom.engine.time.Watermark

/** Iterator over the exchange rows of one map-side task of a time stage.
  *
  * Sends all rows to the key group of their source, in chunks that keep the order of arrival. A
  * chunk ends where a row comes before the previous one in the order of arrival. So the rows of a
  * chunk are sorted, and the stage merges chunks. Not thread-safe.
  *
  * @param input
  *   the columns of the rows, under the stage's names
  */
final class TimeStageEncoder(
    plan: TimeStagePlan,
    input: Seq[Attribute],
    rows: Iterator[InternalRow])
    extends AbstractIterator[InternalRow] {
  private val timeAt = positionOf(plan.time)
  private val arrivalAt = positionOf(plan.arrival)
  private val partitionAt = plan.partition.map(positionOf)
  private val overAt = plan.over.map(positionOf).toArray
  private val partitions = plan.policy.partitions.toSet
  private val toSource = UnsafeProjection.create(plan.source, input)
  private val noStamp = Seq.fill(StampColumns.count)(Literal(0L))
  private val toRow = UnsafeProjection.create(plan.row ++ noStamp, input)
  private val toOrder = UnsafeProjection.create(plan.order, input)
  private val ordering = RowOrdering.createNaturalAscendingOrdering(plan.order.map(_.dataType))
  private val limits: Limits = TaskLimits.current
  private val encoder = new ExchangeEncoder(plan.order, Watermark.NotYet)
  private val chunks = Array.fill(plan.keyGroups)(new OrderedChunk)
  private val counts = new RowCounts
  private val source = new ByteRange
  private val row = new ByteRange
  private val noInput = new ByteRange
  private var out: Iterator[InternalRow] = Iterator.empty
  private var isOver = false

  override def hasNext: Boolean = {
    while (!out.hasNext && rows.hasNext) add(rows.next())
    if (!out.hasNext && !isOver) {
      isOver = true
      out = chunks.indices.iterator.filterNot(chunks(_).rows.isEmpty).map(encoded) ++
        Iterator.single(counts).map(encoder.counts)
    }
    out.hasNext
  }

  override def next(): InternalRow =
    if (hasNext) out.next() else throw new NoSuchElementException("no further row")

  private def add(read: InternalRow): Unit = {
    counts.add(RowCounts.In)
    UnsafeRows.bytesOf(toSource(read), source)
    val group = KeyGroups.groupOf(KeyGroups.hash(source), plan.keyGroups)
    problem(read) match {
      case None => add(read, group)
      case Some(reason) =>
        counts.add(reason.count)
        out = Iterator.single(encoder.deadLetter(group, reason, None, toRow(read).getBytes))
    }
  }

  private def add(read: InternalRow, group: Int): Unit = {
    val chunk = chunks(group)
    val hasOrder = plan.order.nonEmpty
    val order = if (hasOrder) toOrder(read) else null
    val isBefore = hasOrder && !chunk.rows.isEmpty && ordering.compare(order, chunk.last) < 0
    // `encoded` reuses the encoder's row, so the row waits in `out` before the chunk starts again.
    if (isBefore || chunk.rows.isFull) out = Iterator.single(encoded(group))
    if (hasOrder) {
      if (chunk.rows.isEmpty) chunk.first = order.copy()
      chunk.last.copyFrom(order)
    }
    UnsafeRows.bytesOf(toRow(read), row)
    chunk.rows.add(source, row, noInput, read.getLong(timeAt), isPartlyLate = false, None)
  }

  private def encoded(group: Int): InternalRow = {
    val chunk = chunks(group)
    if (plan.order.isEmpty) encoder.rows(group, chunk.rows)
    else encoder.rows(group, chunk.rows, chunk.first)
  }

  /** Why no rule can judge a row. */
  private def problem(read: InternalRow): Option[DeadLetterReason] =
    if (overAt.exists(read.isNullAt)) Some(DeadLetterReason.NoSubstream)
    else if (isOfUnknownPartition(read)) Some(DeadLetterReason.UnknownPartition)
    else if (read.isNullAt(timeAt) || read.isNullAt(arrivalAt)) Some(DeadLetterReason.NoTime)
    else if (!RowRules.isInRange(read.getLong(timeAt)) || !RowRules.isInRange(
        read.getLong(arrivalAt)))
      Some(DeadLetterReason.TimeOutOfRange)
    else None

  private def isOfUnknownPartition(read: InternalRow): Boolean =
    partitions.nonEmpty && partitionAt.exists { at =>
      read.isNullAt(at) || !partitions(read.getUTF8String(at).toString)
    }

  private def positionOf(column: Attribute): Int = input.indexWhere(_.exprId == column.exprId)

  /** The rows of a key group that wait to be sent, and the order of the first and last of them.
    */
  private final class OrderedChunk {
    val rows = new RowChunk(limits.payload)
    var first: UnsafeRow = _
    val last: UnsafeRow = UnsafeRow.createFromByteArray(64, plan.order.length)
  }
}
