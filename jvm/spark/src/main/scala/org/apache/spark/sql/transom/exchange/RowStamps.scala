package org.apache.spark.sql.transom.exchange

import java.util.Arrays

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, UnsafeRow}
import org.apache.spark.sql.transom.operator.Verdict
import org.apache.spark.sql.types.LongType

import transom.engine.time.Watermark

/** Numbers the rows of a batch: the task that holds a row, and the place of the row in this task.
  */
object RowNumbers {
  private final val PlaceBits = 40

  def first(split: Int): Long = split.toLong << PlaceBits

  def splitOf(number: Long): Int = (number >>> PlaceBits).toInt

  def placeOf(number: Long): Long = number & ((1L << PlaceBits) - 1)
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
  private var firedBefore = Watermark.NotYet
  private var reached = Watermark.NotYet
  private var withoutIdle = Watermark.NotYet
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
      reached = math.max(reached, watermark)
      withoutIdle = math.max(withoutIdle, stamp.getLong(RowStamp.Time))
    } else if (verdict == Verdict.ReadRows) {
      val split = RowNumbers.splitOf(stamp.getLong(RowStamp.Number))
      rows(split) = watermark
      sums(split) = stamp.getLong(RowStamp.Time)
    } else {
      if (isFirst && Verdict.isJudged(verdict)) {
        firedBefore = watermark
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
    if (split == 0) (split, bySplit(split).take(firedBefore, reached, withoutIdle))
    else (split, bySplit(split).take(firedBefore, Watermark.NotYet, Watermark.NotYet))
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
  def take(firedBefore: Long, reached: Long, withoutIdle: Long): Array[Long] = {
    val record = Arrays.copyOf(numbers, length)
    record(FiredBefore) = firedBefore
    record(Reached) = reached
    record(WithoutIdle) = withoutIdle
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

  /** The watermark by which windows had fired before this batch, or `NotYet`. */
  val firedBefore: Long = latest(FiredBefore)

  /** The watermark after this batch if it has advanced and this is the first task, or `NotYet`.
    */
  val reached: Long = latest(Reached)

  /** The watermark after this batch that the idle timeout has not moved, or `NotYet`. */
  val withoutIdle: Long = latest(WithoutIdle)

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
  final val FiredBefore = 0
  final val Reached = 1
  final val WithoutIdle = 2
  final val Rows = 3
  final val Sum = 4
  final val Header = 5

  /** The number of rows in a record that does not tell it. */
  final val Unknown = -1L

  /** The length at which a buffer is sent. */
  final val FullLength = 1 << 12
}
