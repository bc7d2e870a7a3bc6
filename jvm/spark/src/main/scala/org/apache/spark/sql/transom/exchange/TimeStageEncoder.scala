package org.apache.spark.sql.transom.exchange

import java.util.LinkedHashMap

import scala.collection.AbstractIterator
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.operator.{StampColumns, TaskLimits, TimeStagePlan}
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.operator.{DeadLetterReason, RowCounts, RowRules}
import transom.engine.state.{ByteRange, KeyGroups}
import transom.engine.time.Watermark

/** Iterator over the exchange rows of one map-side task of a time stage.
  *
  * Sends all rows to the key group of their source, in chunks that keep the order of arrival. Not
  * thread-safe.
  *
  * If windows follow, all rows go to the first key group. Each partition then has chunks of its
  * own. A row of a partition counts as arriving no earlier than the rows before it, so the order
  * within a partition and the order by arrival agree.
  *
  * If the rows stay with this task, only their times are sent, and the sum of the rows.
  *
  * @param input
  *   the columns of the rows, under the stage's names
  * @param split
  *   the number of this task in its stage
  */
final class TimeStageEncoder(
    plan: TimeStagePlan,
    input: Seq[Attribute],
    split: Int,
    rows: Iterator[InternalRow])
    extends AbstractIterator[InternalRow] {
  private val timeAt = positionOf(plan.time)
  private val arrivalAt = positionOf(plan.arrival)
  private val partitionAt = plan.partition.fold(-1)(positionOf)
  private val overAt = plan.over.map(positionOf).toArray
  private val punctuationAt = plan.punctuation.fold(-1)(positionOf)
  private val keyFailedAt = plan.keyFailed.fold(-1)(positionOf)
  private val partitions = plan.policy.partitions.toSet
  private val hasSources = plan.source.nonEmpty
  private val toSource = UnsafeProjection.create(plan.source, input)
  private val toColumns =
    UnsafeProjection.create(plan.row ++ Seq.fill(StampColumns.count)(Literal(0L)), input)
  private val orderAt = plan.orderNumber.fold(-1)(positionOf)
  private var number = RowNumbers.first(split)
  private val arrivalInRow = plan.row.indexWhere(_.exprId == plan.arrival.exprId)
  private val encoder = new ExchangeEncoder(plan.order)
  private val chunks =
    new OrderedChunks(plan.order, plan.movesArrival, input, TaskLimits.current.payload, encoder)
  private val byGroup = Array.tabulate(plan.keyGroups)(chunks.chunkOf)
  private val byPartition = new LinkedHashMap[UTF8String, chunks.OrderedChunk]
  private val counts = new RowCounts
  private val held = if (plan.holdsRows) Some(new RowsSum(plan, input)) else None
  private val source = new ByteRange
  private val row = new ByteRange
  private val noInput = new ByteRange
  private var out: Iterator[InternalRow] = Iterator.empty
  private var isOver = false

  override def hasNext: Boolean = {
    while (!out.hasNext && rows.hasNext) add(rows.next())
    if (!out.hasNext && !isOver) {
      isOver = true
      out = (byGroup.iterator ++ byPartition.values.asScala)
        .filterNot(_.isEmpty)
        .map(_.encoded()) ++ Iterator.single(counts).map(encoder.counts) ++
        held.iterator.map(encoder.readRows(group = 0, split, _))
    }
    out.hasNext
  }

  override def next(): InternalRow =
    if (hasNext) out.next() else throw new NoSuchElementException("no further row")

  private def add(read: InternalRow): Unit = {
    counts.add(RowCounts.In)
    if (held.isDefined) held.get.add(read)
    if (hasSources) UnsafeRows.bytesOf(toSource(read), source)
    val reason = problem(read)
    if (reason == null) add(read, chunkOf(read))
    else {
      counts.add(reason.count)
      val letter = if (plan.holdsRows) RowNumbers.bytesOf(number) else toColumns(read).getBytes
      out = Iterator.single(encoder.deadLetter(group, reason, None, Watermark.NotYet, letter))
    }
    number += 1
  }

  private def group: Int =
    if (plan.windows.isDefined) 0
    else KeyGroups.groupOf(KeyGroups.hash(source), plan.keyGroups)

  private def chunkOf(read: InternalRow): chunks.OrderedChunk =
    if (!plan.mergesPartitions) byGroup(group)
    else {
      val partition = read.getUTF8String(partitionAt)
      val found = byPartition.get(partition)
      if (found != null) found
      else {
        val chunk = chunks.chunkOf(group)
        // The bytes of the id may change.
        byPartition.put(partition.copy(), chunk)
        chunk
      }
    }

  private def add(read: InternalRow, chunk: chunks.OrderedChunk): Unit = {
    val sent = chunk.start(read)
    if (sent != null) out = Iterator.single(sent)
    val time = read.getLong(timeAt)
    if (plan.holdsRows) {
      val arrival = if (plan.movesArrival) chunk.arrival else read.getLong(arrivalAt)
      chunk.times.add(source, number, time, arrival, orderOf(read))
    } else {
      val written = toColumns(read)
      if (plan.movesArrival) written.setLong(arrivalInRow, chunk.arrival)
      UnsafeRows.bytesOf(written, row)
      chunk.rows.add(source, row, noInput, time, isPartlyLate = false, None)
    }
  }

  private def orderOf(read: InternalRow): Long =
    if (orderAt < 0) 0L
    else if (read.isNullAt(orderAt)) RowTimes.NoOrder
    else read.getLong(orderAt)

  /** Why no rule can judge a row; null if the rules can. */
  private def problem(read: InternalRow): DeadLetterReason =
    if (hasNull(read, overAt)) DeadLetterReason.NoSubstream
    else if (partitionAt >= 0 && isOfUnknownPartition(read)) DeadLetterReason.UnknownPartition
    else if (read.isNullAt(timeAt) || read.isNullAt(arrivalAt)) DeadLetterReason.NoTime
    else if (!RowRules.isInRange(read.getLong(timeAt)) || !RowRules.isInRange(
        read.getLong(arrivalAt)))
      DeadLetterReason.TimeOutOfRange
    else if (keyFailedAt >= 0 && read.getBoolean(keyFailedAt) && !isPunctuation(read))
      DeadLetterReason.KeyFailed
    else null

  private def isPunctuation(read: InternalRow): Boolean =
    punctuationAt >= 0 && read.getBoolean(punctuationAt)

  private def hasNull(read: InternalRow, columns: Array[Int]): Boolean = {
    var i = 0
    while (i < columns.length && !read.isNullAt(columns(i))) i += 1
    i < columns.length
  }

  /** A row without a partition would hold the watermark back until the null partition has further
    * rows.
    */
  private def isOfUnknownPartition(read: InternalRow): Boolean =
    read.isNullAt(partitionAt) ||
      partitions.nonEmpty && !partitions(read.getUTF8String(partitionAt).toString)

  private def positionOf(column: Attribute): Int = input.indexWhere(_.exprId == column.exprId)
}
