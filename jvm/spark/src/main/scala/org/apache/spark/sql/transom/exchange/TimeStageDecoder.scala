package org.apache.spark.sql.transom.exchange

import java.util.PriorityQueue

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.operator.TimeStagePlan

import transom.engine.operator.Event

/** Reads the events of a key group of sources, in the order of arrival. Reuses the events.
  *
  * The exchange sorts chunks by the order of their first rows. Chunks may overlap, so the decoder
  * merges all chunks that have begun. Rows of equal order keep the order in which they were read.
  */
final class TimeStageDecoder(plan: TimeStagePlan) {
  private val letters = new LetterReader
  private val arrivalAt = plan.row.indexWhere(_.exprId == plan.arrival.exprId)
  private val orderAt = plan.order.map(o => plan.row.indexWhere(_.exprId == o.exprId))
  private val ordering = RowOrdering.create(
    plan.order.zip(orderAt).map { case (column, at) =>
      SortOrder(BoundReference(at, column.dataType, nullable = true), Ascending)
    },
    Nil)
  private val comesFirst: java.util.Comparator[OpenChunk] = (a, b) => {
    val order = if (plan.order.isEmpty) 0 else ordering.compare(a.view, b.view)
    if (order != 0) order else java.lang.Long.compare(a.position, b.position)
  }

  /** @param rows
    *   the exchange rows of the key group, sorted
    */
  def events(rows: Iterator[InternalRow]): Iterator[Event] = new AbstractIterator[Event] {
    private val open = new PriorityQueue[OpenChunk](comesFirst)
    // The chunk after those in `open`, the chunk of the row that was read last, and an event that
    // has no place in the order.
    private var pending: OpenChunk = _
    private var current: OpenChunk = _
    private var other: Event = _

    override def hasNext: Boolean = {
      if (current != null) {
        if (current.advance()) open.add(current)
        current = null
      }
      openChunks()
      other != null || !open.isEmpty
    }

    override def next(): Event =
      if (!hasNext) throw new NoSuchElementException("no further event")
      else if (other != null) {
        val event = other
        other = null
        event
      } else {
        current = open.poll()
        current.row
      }

    /** Opens all chunks that may hold the next row. */
    private def openChunks(): Unit = {
      var isSearching = true
      while (isSearching && other == null) {
        if (pending == null && rows.hasNext) read(rows.next())
        isSearching = pending != null &&
          (open.isEmpty || comesFirst.compare(pending, open.peek()) < 0)
        if (isSearching) {
          open.add(pending)
          pending = null
        }
      }
    }

    private def read(exchangeRow: InternalRow): Unit =
      exchangeRow.getInt(ExchangeFormat.Kind) match {
        case ExchangeFormat.Rows => pending = new OpenChunk(exchangeRow)
        case ExchangeFormat.DeadLetter => other = letters.read(exchangeRow)
        case ExchangeFormat.Counts =>
          other = new Event.Counts(exchangeRow.getBinary(ExchangeFormat.Payload))
        case ExchangeFormat.Tick => other = Event.Tick
      }
  }

  /** A chunk whose rows are being read, at its next row. */
  private final class OpenChunk(exchangeRow: InternalRow) {
    val position: Long = exchangeRow.getLong(ExchangeFormat.Position)
    val row = new Event.Row
    val view = new UnsafeRow(plan.width)
    private val reader = new RowChunkReader(exchangeRow.getBinary(ExchangeFormat.Payload), row)
    advance(): Unit

    /** Moves to the next row, if there is one. */
    def advance(): Boolean = reader.hasNext && {
      reader.read()
      view.pointTo(row.value.bytes, UnsafeRows.offset(row.value), row.value.length)
      row.arrival.clock = view.getLong(arrivalAt)
      true
    }
  }
}
