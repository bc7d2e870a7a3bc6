package org.apache.spark.sql.transom.exchange

import java.util.Arrays

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.operator.{StampColumns, TimeStagePlan, Verdict}
import org.apache.spark.sql.types.LongType
import org.apache.spark.unsafe.Platform

import transom.engine.state.ByteRange
import transom.engine.time.Watermark

/** Packs the rows that stay with a map-side task of a time stage into chunks, in the order in
  * which they are read. Not thread-safe.
  *
  * A chunk holds the length of each row in 8 bytes, and the row. A row has the columns of the
  * plan, and room for its stamp.
  *
  * @param input
  *   the columns of the rows, under the stage's names
  */
final class HeldRows(plan: TimeStagePlan, input: Seq[Attribute], rows: Iterator[InternalRow])
    extends AbstractIterator[Array[Byte]] {
  import HeldRows._

  private val noStamp = Seq(Literal(Watermark.NotYet), Literal(0L))
  private val toRow = UnsafeProjection.create(plan.columns ++ noStamp, input)
  private val row = new ByteRange
  // Whether the last row read has found no room in its chunk.
  private var isLeft = false
  private var chunkSize = LeastSize

  override def hasNext: Boolean = isLeft || rows.hasNext

  override def next(): Array[Byte] = {
    if (!isLeft) read()
    val chunk = new Array[Byte](math.max(chunkSize, LengthSize + row.length))
    chunkSize = math.min(2 * chunkSize, MostSize)
    var length = 0
    isLeft = true
    while (isLeft && length + LengthSize + row.length <= chunk.length) {
      Platform.putLong(chunk, UnsafeRows.ArrayOffset + length, row.length.toLong)
      System.arraycopy(row.bytes, row.offset, chunk, length + LengthSize, row.length)
      length += LengthSize + row.length
      isLeft = rows.hasNext
      if (isLeft) read()
    }
    if (length == chunk.length) chunk else Arrays.copyOf(chunk, length)
  }

  private def read(): Unit = UnsafeRows.bytesOf(toRow(rows.next()), row): Unit
}

/** Reads chunks of held rows. */
object HeldRows {
  private final val LengthSize = 8

  // The first chunk of a task is small, because most batches are.
  private final val LeastSize = 32 << 10

  // The garbage collector never moves such large arrays, and they fit into its regions.
  private final val MostSize = (2 << 20) - 64

  /** The rows of chunks. Each row overwrites the one before it. */
  def read(plan: TimeStagePlan, chunks: Iterator[Array[Byte]]): Iterator[UnsafeRow] =
    new AbstractIterator[UnsafeRow] {
      private val shared = new UnsafeRow(plan.columns.length + StampColumns.count)
      private var chunk = Array.emptyByteArray
      private var position = 0

      override def hasNext: Boolean = {
        if (position == chunk.length && chunks.hasNext) {
          chunk = chunks.next()
          position = 0
        }
        position < chunk.length
      }

      override def next(): UnsafeRow =
        if (!hasNext) throw new NoSuchElementException("no further row")
        else {
          val length = Platform.getLong(chunk, UnsafeRows.ArrayOffset + position).toInt
          position += LengthSize
          shared.pointTo(chunk, UnsafeRows.ArrayOffset + position, length)
          position += length
          shared
        }
    }
}

/** The rows that stayed with a map-side task, with their stamps. Each row overwrites the one
  * before it.
  *
  * A row with a watermark comes first, the watermark of the batch before. It also comes if there
  * was none, because the first row of a task may have met a later watermark. Another one comes
  * last in the first task, if the watermark has advanced.
  *
  * Stamps find rows by their place. So after the last row, the iterator compares the rows with
  * those that the stage has judged. Throws `TRANSOM_ROWS_CHANGED` if they differ.
  *
  * @param chunks
  *   the chunks of [[HeldRows]]
  * @param operator
  *   the name of the operator
  */
final class StampedHeldRows(
    plan: TimeStagePlan,
    stamps: RowStamps,
    chunks: Iterator[Array[Byte]],
    operator: String)
    extends AbstractIterator[InternalRow] {
  private val watermarkAt = plan.columns.length
  private val verdictAt = watermarkAt + 1
  private val rows = HeldRows.read(plan, chunks)
  private val read = new RowsSum(plan, plan.columns)
  private var marker = markerOf(stamps.firedBefore, Verdict.FiredBefore)
  private var isOver = false

  override def hasNext: Boolean = marker != null || rows.hasNext || {
    if (!isOver) {
      isOver = true
      check()
      if (stamps.reached != Watermark.NotYet)
        marker = markerOf(stamps.reached, Verdict.Watermark, stamps.withoutIdle)
    }
    marker != null
  }

  override def next(): InternalRow =
    if (!hasNext) throw new NoSuchElementException("no further row")
    else if (marker != null) {
      val row = marker
      marker = null
      row
    } else {
      val row = rows.next()
      val place = read.rows
      read.add(row)
      if (stamps.moveTo(place)) stamp(row)
      row
    }

  private def check(): Unit =
    if (read.rows != stamps.rows || read.sum != stamps.sum) {
      val difference =
        if (read.rows == stamps.rows) " with other times or in another order" else ""
      throw new TransomException(
        "TRANSOM_ROWS_CHANGED",
        Map(
          "operator" -> operator,
          "now" -> s"${read.rows} rows$difference",
          "before" -> s"${math.max(0L, stamps.rows)} rows"))
    }

  private def stamp(row: UnsafeRow): Unit = {
    // A dropped row keeps its own time, for its dead letter.
    if (Verdict.dropped(stamps.verdict).isEmpty) row.setLong(0, stamps.time)
    row.setLong(watermarkAt, stamps.watermark)
    row.setLong(verdictAt, stamps.verdict)
  }

  private def markerOf(
      watermark: Long,
      verdict: Long,
      time: Long = Watermark.NotYet): UnsafeRow = {
    val types = plan.columns.map(_.dataType) ++ Seq.fill(StampColumns.count)(LongType)
    val empty = UnsafeProjection.create(types.map(Literal(null, _))).apply(InternalRow.empty)
    empty.setLong(0, time)
    empty.setLong(watermarkAt, watermark)
    empty.setLong(verdictAt, verdict)
    empty
  }
}
