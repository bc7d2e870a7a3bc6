package org.apache.spark.sql.transom.exchange

import java.util.Arrays

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.planned.{StampColumns, TimeStagePlan, Verdict}
import org.apache.spark.sql.types.LongType
import org.apache.spark.unsafe.Platform

import transom.engine.state.ByteRange
import transom.engine.time.{Advance, Watermark}

/** Numbers the rows of a batch: the task that holds a row, and the place of the row in this task.
  */
object RowNumbers {
  private final val PlaceBits = 40

  def first(split: Int): Long = split.toLong << PlaceBits

  def splitOf(number: Long): Int = (number >>> PlaceBits).toInt

  def placeOf(number: Long): Long = number & ((1L << PlaceBits) - 1)

  /** A number as the value of a row whose columns stay with their task. */
  def bytesOf(number: Long): Array[Byte] = {
    val bytes = new Array[Byte](8)
    write(number, bytes)
    bytes
  }

  def write(number: Long, to: Array[Byte]): Unit =
    Platform.putLong(to, UnsafeRows.ArrayOffset, number)

  def numberOf(row: ByteRange): Long = Platform.getLong(row.bytes, UnsafeRows.offset(row))
}

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

/** Sums up the rows of a map-side task, as far as a time stage judges rows by them: their order,
  * and the partition, time, arrival and order column of each row.
  *
  * A task that reads its rows again compares the sums. Not thread-safe.
  *
  * @param input
  *   the columns of the rows
  */
final class RowsSum(plan: TimeStagePlan, input: Seq[Attribute]) {
  import RowsSum._

  private val numbers =
    (Seq(plan.time, plan.arrival) ++ plan.orderNumber).map(positionOf).toArray
  private val partitionAt = plan.partition.fold(-1)(positionOf)

  /** The number of rows. */
  var rows: Long = 0L

  /** The sum, which depends on the order of the rows. */
  var sum: Long = 0L

  /** Adds a row. */
  def add(row: InternalRow): Unit = {
    rows += 1
    var i = 0
    while (i < numbers.length) {
      val at = numbers(i)
      add(if (row.isNullAt(at)) Null else row.getLong(at))
      i += 1
    }
    if (partitionAt >= 0)
      add(if (row.isNullAt(partitionAt)) Null else row.getUTF8String(partitionAt).hashCode.toLong)
  }

  private def add(number: Long): Unit =
    sum = (java.lang.Long.rotateLeft(sum, 5) ^ number) * Factor

  private def positionOf(column: Attribute): Int = input.indexWhere(_.exprId == column.exprId)
}

private object RowsSum {
  private final val Null = 0x5bd1e9955bd1e995L

  // Odd, so the product differs if the number differs.
  private final val Factor = 0x9e3779b97f4a7c15L
}

/** What a time stage says about a row that stays with its map-side task, or about all rows of
  * such a task: four numbers.
  */
object RowStamp {
  final val Number = 0
  final val Time = 1
  final val Watermark = 2
  final val Verdict = 3
  final val Size = 4

  /** Attributes for the numbers. */
  def attributes(): Seq[Attribute] = Seq("number", "time", "watermark", "verdict").map {
    AttributeReference(_, LongType, nullable = false)()
  }

  /** An empty row for the numbers. */
  def row(): UnsafeRow = UnsafeRow.createFromByteArray(8 + Size * 8, Size)
}

/** Sends the stamps of a batch back to the map-side tasks that hold the rows.
  *
  * Each record is the number of a task, the watermark of the batch before, the watermark after
  * this batch or `NotYet`, the same without the idle timeout, the number and the sum of the rows
  * that the task has read, and stamps. Only the last record of a task has the sum.
  *
  * @param stamps
  *   the rows of the time stage, as [[RowStamp]] describes them
  * @param splits
  *   the number of map-side tasks
  */
final class RowStampRecords(stamps: Iterator[InternalRow], splits: Int)
    extends AbstractIterator[(Int, Array[Long])] {
  private val bySplit = Array.fill(splits)(new StampBuffer)
  private val rows = Array.fill(splits)(RowStamps.Unknown)
  private val sums = new Array[Long](splits)
  private var advance = Advance.Unknown
  private var isFirst = true
  private var ready: (Int, Array[Long]) = _
  private var last: Iterator[(Int, Array[Long])] = Iterator.empty

  override def hasNext: Boolean = {
    while (ready == null && stamps.hasNext) {
      add(stamps.next())
      // Without any row there is nothing to say.
      if (!stamps.hasNext) last = (0 until splits).iterator.map(lastRecordOf)
    }
    ready != null || last.hasNext
  }

  override def next(): (Int, Array[Long]) =
    if (!hasNext) throw new NoSuchElementException("no further record")
    else if (ready == null) last.next()
    else {
      val record = ready
      ready = null
      record
    }

  private def add(stamp: InternalRow): Unit = {
    val verdict = stamp.getLong(RowStamp.Verdict)
    val watermark = stamp.getLong(RowStamp.Watermark)
    if (verdict == Verdict.Watermark) {
      advance = advance.max(Advance(Watermark.NotYet, watermark, stamp.getLong(RowStamp.Time)))
    } else if (verdict == Verdict.ReadRows) {
      val split = RowNumbers.splitOf(stamp.getLong(RowStamp.Number))
      rows(split) = watermark
      sums(split) = stamp.getLong(RowStamp.Time)
    } else {
      if (isFirst && Verdict.isJudged(verdict)) {
        advance = advance.copy(before = watermark)
        isFirst = false
      }
      val split = RowNumbers.splitOf(stamp.getLong(RowStamp.Number))
      bySplit(split).add(stamp)
      if (bySplit(split).isFull) ready = recordOf(split)
    }
  }

  private def lastRecordOf(split: Int): (Int, Array[Long]) = {
    val record = recordOf(split)
    record._2(RowStamps.Rows) = rows(split)
    record._2(RowStamps.Sum) = sums(split)
    record
  }

  private def recordOf(split: Int): (Int, Array[Long]) =
    // One task forwards the watermark.
    (split, bySplit(split).take(if (split == 0) advance else Advance.from(advance.before)))
}

/** The stamps that wait to be sent to a task. */
private final class StampBuffer {
  import RowStamps._

  private var numbers = new Array[Long](Header)
  private var length = Header

  def isFull: Boolean = length >= FullLength

  def add(stamp: InternalRow): Unit = {
    if (length + RowStamp.Size > numbers.length) numbers = Arrays.copyOf(numbers, 2 * length + 64)
    (0 until RowStamp.Size).foreach(i => numbers(length + i) = stamp.getLong(i))
    length += RowStamp.Size
  }

  /** Returns a record, and empties the buffer. */
  def take(advance: Advance): Array[Long] = {
    val record = Arrays.copyOf(numbers, length)
    record(Before) = advance.before
    record(After) = advance.after
    record(ByRows) = advance.byRows
    record(Rows) = Unknown
    length = Header
    record
  }
}

/** The stamps of the rows that a map-side task holds, by the place of the row.
  *
  * @param records
  *   the records of [[RowStampRecords]] for the task
  */
final class RowStamps(records: Seq[Array[Long]]) {
  import RowStamps._

  /** How the watermark advances in this batch. `after` is `NotYet` if the watermark does not
    * move, and for all tasks but the first.
    */
  val advance: Advance = Advance(latest(Before), latest(After), latest(ByRows))

  /** The number of the rows that the stage has judged or refused. */
  val rows: Long = records.iterator.map(_(Rows)).maxOption.getOrElse(Unknown)

  /** Their sum, see [[RowsSum]]. */
  val sum: Long = records.find(_(Rows) == rows).fold(0L)(_(Sum))

  // Addresses of the stamps: the record in the upper half, the position in it in the lower.
  private val addresses: Array[Long] = {
    val all = new Array[Long](records.map(record => (record.length - Header) / RowStamp.Size).sum)
    var filled = 0
    var isSorted = true
    records.indices.foreach { i =>
      var from = Header
      while (from < records(i).length) {
        all(filled) = i.toLong << 32 | from
        isSorted &&= filled == 0 || row(all(filled - 1)) < row(all(filled))
        filled += 1
        from += RowStamp.Size
      }
    }
    // The rows of a task are in the order of arrival, unless its input is not.
    if (isSorted) all else all.sortBy(row)
  }
  private var at = -1

  def time: Long = read(addresses(at), RowStamp.Time)

  def watermark: Long = read(addresses(at), RowStamp.Watermark)

  def verdict: Long = read(addresses(at), RowStamp.Verdict)

  /** Moves to the stamp of a row. Call with rising places.
    *
    * @return
    *   whether the row has a stamp
    */
  def moveTo(place: Long): Boolean =
    at + 1 < addresses.length && row(addresses(at + 1)) == place && {
      at += 1
      true
    }

  private def row(address: Long): Long = RowNumbers.placeOf(read(address, RowStamp.Number))

  private def read(address: Long, column: Int): Long =
    records((address >>> 32).toInt)(address.toInt + column)

  private def latest(column: Int): Long =
    records.iterator.map(_(column)).maxOption.getOrElse(Watermark.NotYet)
}

private object RowStamps {
  final val Before = 0
  final val After = 1
  final val ByRows = 2
  final val Rows = 3
  final val Sum = 4
  final val Header = 5

  /** The number of rows in a record that does not tell it. */
  final val Unknown = -1L

  /** The length at which a buffer is sent. */
  final val FullLength = 1 << 12
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
  private var marker = markerOf(stamps.advance.before, Verdict.WatermarkBefore)
  private var isOver = false

  override def hasNext: Boolean = marker != null || rows.hasNext || {
    if (!isOver) {
      isOver = true
      check()
      val advance = stamps.advance
      if (advance.after != Watermark.NotYet)
        marker = markerOf(advance.after, Verdict.Watermark, advance.byRows)
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
