package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

import transom.engine.time.Watermark

/** Collects the rows of a map-side task in chunks whose rows are in the order of arrival.
  *
  * A chunk ends where a row comes before the previous one. So the rows of each chunk are sorted,
  * and [[OrderedChunkDecoder]] merges chunks. Not thread-safe.
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
      else if (order.isEmpty) encoder.rows(group, rows, Watermark.NotYet)
      else encoder.rows(group, rows, Watermark.NotYet, first)
  }
}
