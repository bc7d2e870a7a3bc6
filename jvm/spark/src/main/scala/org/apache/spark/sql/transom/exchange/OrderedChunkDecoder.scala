package org.apache.spark.sql.transom.exchange

import java.nio.ByteBuffer
import java.util.PriorityQueue

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.operator.TimeStagePlan

import transom.engine.operator.Event

/** Reads the events of a key group whose rows come in ordered chunks, in the order of arrival.
  * Reuses the events.
  *
  * The exchange sorts chunks by the order of their first rows. Chunks may overlap, so the decoder
  * merges all chunks that have begun. Rows of equal order keep the order in which they were read.
  *
  * @param columns
  *   the columns of the value of a row
  * @param width
  *   the number of fields of the value; it may have more fields than `columns`
  * @param arrival
  *   the column with the arrival time, one of `columns`
  * @param order
  *   the columns that define the order of arrival, a part of `columns`
  * @param punctuation
  *   the column that says whether a row is punctuation, one of `columns`; none if no row is
  * @param complete
  *   reads further properties of a row that is no punctuation from its value
  * @param holds
  *   the stage whose rows stay with their tasks, if the chunks are [[RowTimes]]. The value of a
  *   row is then its number, and `columns` are the columns that order rows.
  */
final class OrderedChunkDecoder(
    columns: Seq[Attribute],
    width: Int,
    arrival: Attribute,
    order: Seq[Attribute],
    punctuation: Option[Attribute],
    complete: Event.Row => Unit,
    holds: Option[TimeStagePlan]) {
  private val letters = new LetterReader
  private val arrivalAt = positionOf(arrival)
  private val punctuationAt = punctuation.fold(-1)(positionOf)
  private val ordering = RowOrdering.create(
    order.map { column =>
      SortOrder(BoundReference(positionOf(column), column.dataType, nullable = true), Ascending)
    },
    Nil)
  private val comesFirst: java.util.Comparator[OpenChunk] = (a, b) => {
    val compared = if (order.isEmpty) 0 else ordering.compare(a.view, b.view)
    if (compared != 0) compared else java.lang.Long.compare(a.position, b.position)
  }

  /** @param rows
    *   the exchange rows of the key group, sorted
    */
  def events(rows: Iterator[InternalRow]): Iterator[Event] = new AbstractIterator[Event] {
    // The chunk with the first row of all, and the other chunks that have begun. Most chunks do
    // not overlap, so `open` is usually empty.
    private var current: OpenChunk = _
    private val open = new PriorityQueue[OpenChunk](comesFirst)
    // The chunk after those.
    private var pending: OpenChunk = _
    // An event that has no place in the order.
    private var other: Event = _
    // Whether the first row of `current` has been read.
    private var isRead = false

    override def hasNext: Boolean = {
      if (isRead) {
        isRead = false
        if (!current.advance()) current = open.poll()
        else if (!open.isEmpty && comesFirst.compare(open.peek(), current) < 0) {
          open.add(current)
          current = open.poll()
        }
      }
      openChunks()
      other != null || current != null
    }

    override def next(): Event =
      if (!hasNext) throw new NoSuchElementException("no further event")
      else if (other != null) {
        val event = other
        other = null
        event
      } else {
        isRead = true
        current.event
      }

    /** Opens all chunks that may hold the next row. */
    private def openChunks(): Unit = {
      var isSearching = true
      while (isSearching && other == null) {
        if (pending == null && rows.hasNext) read(rows.next())
        isSearching = pending != null &&
          (current == null || comesFirst.compare(pending, current) < 0)
        if (isSearching) {
          if (current != null) open.add(current)
          current = pending
          pending = null
        }
      }
    }

    private def read(exchangeRow: InternalRow): Unit =
      exchangeRow.getInt(ExchangeFormat.Kind) match {
        case ExchangeFormat.Rows => pending = chunkOf(exchangeRow)
        case ExchangeFormat.DeadLetter => other = letters.read(exchangeRow)
        case ExchangeFormat.Counts =>
          other = new Event.Counts(exchangeRow.getBinary(ExchangeFormat.Payload))
        case ExchangeFormat.Tick => other = Event.Tick
        case ExchangeFormat.LatestArrival =>
          val payload = ByteBuffer.wrap(exchangeRow.getBinary(ExchangeFormat.Payload))
          other = new Event.LatestArrival(payload.getLong())
        case ExchangeFormat.ReadRows =>
          val payload = ByteBuffer.wrap(exchangeRow.getBinary(ExchangeFormat.Payload))
          other = new Event.ReadRows(payload.getInt(), payload.getLong(), payload.getLong())
      }
  }

  private def chunkOf(exchangeRow: InternalRow): OpenChunk = {
    val position = exchangeRow.getLong(ExchangeFormat.Position)
    val payload = exchangeRow.getBinary(ExchangeFormat.Payload)
    val chunk =
      holds.fold[OpenChunk](new OpenRows(position, payload))(new OpenTimes(position, payload, _))
    chunk.advance(): Unit
    chunk
  }

  /** A chunk whose rows are being read, at its next row. */
  private abstract class OpenChunk(val position: Long) {
    protected val row = new Event.Row

    /** The columns that order rows, among others. */
    def view: InternalRow

    /** The row, or the punctuation that it is. */
    def event: Event = row

    /** Moves to the next row, if there is one. */
    def advance(): Boolean
  }

  private final class OpenRows(position: Long, payload: Array[Byte]) extends OpenChunk(position) {
    override val view = new UnsafeRow(width)
    private val asPunctuation = new Event.Punctuation(row)
    private var isPunctuation = false
    private val reader = new RowChunkReader(payload, row)

    override def event: Event = if (isPunctuation) asPunctuation else row

    override def advance(): Boolean = reader.hasNext && {
      reader.read()
      view.pointTo(row.value.bytes, UnsafeRows.offset(row.value), row.value.length)
      row.arrival.clock = view.getLong(arrivalAt)
      isPunctuation = punctuationAt >= 0 && view.getBoolean(punctuationAt)
      if (!isPunctuation) complete(row)
      true
    }
  }

  private final class OpenTimes(position: Long, payload: Array[Byte], stage: TimeStagePlan)
      extends OpenChunk(position) {
    private val reader = new RowTimesReader(payload)
    private val number = RowTimes.bytesOf(0L)
    private val orderAt = stage.orderNumber.fold(-1)(positionOf)
    reader.readSource(row.key)
    row.value.set(number, 0, number.length)
    private val shared = new SpecificInternalRow(columns.map(_.dataType))
    stage.partition.foreach { partition =>
      val key = new UnsafeRow(1)
      key.pointTo(payload, UnsafeRows.offset(row.key), row.key.length)
      shared.update(positionOf(partition), key.getUTF8String(0))
    }

    override def view: InternalRow = {
      shared.setLong(arrivalAt, reader.arrival)
      if (orderAt >= 0)
        if (reader.order == RowTimes.NoOrder) shared.setNullAt(orderAt)
        else shared.setLong(orderAt, reader.order)
      shared
    }

    override def advance(): Boolean = reader.hasNext && {
      reader.read()
      RowTimes.write(reader.number, number)
      row.arrival.time = reader.time
      row.arrival.clock = reader.arrival
      true
    }
  }

  private def positionOf(column: Attribute): Int = columns.indexWhere(_.exprId == column.exprId)
}
