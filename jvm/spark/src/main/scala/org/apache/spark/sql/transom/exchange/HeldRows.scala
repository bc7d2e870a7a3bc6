package org.apache.spark.sql.transom.exchange

import java.util.Arrays

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.batch.TaskWatermark
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.planned.{JudgementColumns, TimeStagePlan}
import org.apache.spark.sql.types.LongType
import org.apache.spark.unsafe.Platform

import transom.engine.judge.Judgement
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
  * plan, and room for its judgement.
  *
  * @param input
  *   the columns of the rows, under the stage's names
  */
final class HeldRows(plan: TimeStagePlan, input: Seq[Attribute], rows: Iterator[InternalRow])
    extends AbstractIterator[Array[Byte]] {
  import HeldRows._

  private val unjudged = Seq(Literal(Watermark.NotYet), Literal(Judgement.Plain))
  private val toRow = UnsafeProjection.create(plan.columns ++ unjudged, input)
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
      private val shared = new UnsafeRow(plan.columns.length + JudgementColumns.count)
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

/** What a time stage says about the rows that stay with a map-side task, as a row of numbers.
  *
  * {{{
  * kind        what the row is about, see JudgementRowKind
  * number      of the row, or of the first row of the task, see RowNumbers
  * time        in force;           the sum of the rows that the task has read, see RowsSum
  * watermark   that the row met;   the number of these rows
  * code        of the Judgement
  * }}}
  */
object JudgementRow {
  final val Kind = 0
  final val Number = 1
  final val Time = 2
  final val Watermark = 3
  final val Code = 4

  private val columns = Seq("kind", "number", "time", "watermark", "code")

  /** The number of numbers behind the kind. */
  private[exchange] final val Size = 4

  def attributes(): Seq[Attribute] =
    columns.map(AttributeReference(_, LongType, nullable = false)())

  /** An empty row. */
  def row(): UnsafeRow = UnsafeRow.createFromByteArray(8 + 8 * columns.length, columns.length)
}

/** What a [[JudgementRow]] is about. */
sealed abstract class JudgementRowKind(val code: Long)

/** The kinds. */
object JudgementRowKind {

  /** One row: its judgement. */
  case object Judged extends JudgementRowKind(0L)

  /** All rows of a task: their number and their sum. */
  case object Read extends JudgementRowKind(1L)

  def of(row: InternalRow): JudgementRowKind = row.getLong(JudgementRow.Kind) match {
    case Judged.code => Judged
    case Read.code => Read
    case other => throw new IllegalStateException(s"no kind of judgement row has the code $other")
  }
}

/** Sends the judgements of a batch back to the map-side tasks that hold the rows.
  *
  * Each record is the number of a task, and numbers. Only the first task receives the watermark
  * after the batch, and passes it on. Only the last record of a task has the number of the rows
  * and their sum.
  *
  * {{{
  * the three numbers of an advance, number of rows, sum of rows; of each judgement: number, time,
  * watermark, code
  * }}}
  *
  * @param rows
  *   the rows of the time stage, as [[JudgementRow]] describes them
  * @param splits
  *   the number of map-side tasks
  * @param watermark
  *   the watermark of the time stage
  */
final class JudgementRecords(rows: Iterator[InternalRow], splits: Int, watermark: TaskWatermark)
    extends AbstractIterator[(Int, Array[Long])] {
  private val bySplit = Array.fill(splits)(new JudgementBuffer)
  private val counts = Array.fill(splits)(HeldJudgements.Unknown)
  private val sums = new Array[Long](splits)
  private var ready: (Int, Array[Long]) = _
  private var last: Iterator[(Int, Array[Long])] = Iterator.empty

  override def hasNext: Boolean = {
    while (ready == null && rows.hasNext) {
      add(rows.next())
      // Without any row there is nothing to say.
      if (!rows.hasNext) last = (0 until splits).iterator.map(lastRecordOf)
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

  private def add(row: InternalRow): Unit = {
    val split = RowNumbers.splitOf(row.getLong(JudgementRow.Number))
    JudgementRowKind.of(row) match {
      case JudgementRowKind.Judged =>
        bySplit(split).add(row)
        if (bySplit(split).isFull) ready = recordOf(split)
      case JudgementRowKind.Read =>
        counts(split) = row.getLong(JudgementRow.Watermark)
        sums(split) = row.getLong(JudgementRow.Time)
    }
  }

  private def lastRecordOf(split: Int): (Int, Array[Long]) = {
    val record = recordOf(split)
    record._2(HeldJudgements.Rows) = counts(split)
    record._2(HeldJudgements.Sum) = sums(split)
    record
  }

  private def recordOf(split: Int): (Int, Array[Long]) = {
    val advance = watermark.advance
    (split, bySplit(split).take(if (split == 0) advance else Advance.from(advance.before)))
  }
}

/** The judgements that wait to be sent to a task. */
private final class JudgementBuffer {
  import HeldJudgements._

  private var numbers = new Array[Long](Header)
  private var length = Header

  def isFull: Boolean = length >= FullLength

  def add(row: InternalRow): Unit = {
    if (length + JudgementRow.Size > numbers.length)
      numbers = Arrays.copyOf(numbers, 2 * length + 64)
    (0 until JudgementRow.Size).foreach { i =>
      numbers(length + i) = row.getLong(JudgementRow.Number + i)
    }
    length += JudgementRow.Size
  }

  /** Returns a record, and empties the buffer. */
  def take(advance: Advance): Array[Long] = {
    val record = Arrays.copyOf(numbers, length)
    AdvanceNumbers.write(advance, record)
    record(Rows) = Unknown
    length = Header
    record
  }
}

/** The judgements on the rows that a map-side task holds, by the place of the row.
  *
  * @param records
  *   the records of [[JudgementRecords]] for the task
  */
final class HeldJudgements(records: Seq[Array[Long]]) {
  import HeldJudgements._

  /** How the watermark advances in this batch. `after` is `NotYet` if the watermark does not
    * move, and for all tasks but the first.
    */
  val advance: Advance = records.map(AdvanceNumbers.read).foldLeft(Advance.Unknown)(_.max(_))

  /** The number of the rows that the stage has judged or refused. */
  val rows: Long = records.iterator.map(_(Rows)).maxOption.getOrElse(Unknown)

  /** Their sum, see [[RowsSum]]. */
  val sum: Long = records.find(_(Rows) == rows).fold(0L)(_(Sum))

  // Addresses of the judgements: the record in the upper half, the position in it in the lower.
  private val addresses: Array[Long] = {
    val all =
      new Array[Long](records.map(record => (record.length - Header) / JudgementRow.Size).sum)
    var filled = 0
    var isSorted = true
    records.indices.foreach { i =>
      var from = Header
      while (from < records(i).length) {
        all(filled) = i.toLong << 32 | from
        isSorted &&= filled == 0 || row(all(filled - 1)) < row(all(filled))
        filled += 1
        from += JudgementRow.Size
      }
    }
    // The rows of a task are in the order of arrival, unless its input is not.
    if (isSorted) all else all.sortBy(row)
  }
  private var at = -1

  def time: Long = read(addresses(at), JudgementRow.Time)

  def watermark: Long = read(addresses(at), JudgementRow.Watermark)

  def code: Long = read(addresses(at), JudgementRow.Code)

  /** Moves to the judgement on a row. Call with rising places.
    *
    * @return
    *   whether the row has one
    */
  def moveTo(place: Long): Boolean =
    at + 1 < addresses.length && row(addresses(at + 1)) == place && {
      at += 1
      true
    }

  private def row(address: Long): Long = RowNumbers.placeOf(read(address, JudgementRow.Number))

  private def read(address: Long, column: Int): Long =
    records((address >>> 32).toInt)(address.toInt + column - JudgementRow.Number)
}

private object HeldJudgements {
  final val Rows = AdvanceNumbers.Size
  final val Sum = Rows + 1
  final val Header = Sum + 1

  /** The number of rows in a record that does not tell it. */
  final val Unknown = -1L

  /** The length at which a buffer is sent. */
  final val FullLength = 1 << 12
}

/** The rows that stayed with a map-side task, with their judgements. Each row overwrites the one
  * before it.
  *
  * Judgements find rows by their place. So after the last row, the iterator compares the rows
  * with those that the stage has judged. Throws `TRANSOM_ROWS_CHANGED` if they differ.
  *
  * @param chunks
  *   the chunks of [[HeldRows]]
  * @param operator
  *   the name of the operator
  */
final class JudgedHeldRows(
    plan: TimeStagePlan,
    judgements: HeldJudgements,
    chunks: Iterator[Array[Byte]],
    operator: String)
    extends AbstractIterator[InternalRow] {
  private val watermarkAt = plan.columns.length
  private val rows = HeldRows.read(plan, chunks)
  private val read = new RowsSum(plan, plan.columns)
  private val judgement = new Judgement
  private var isOver = false

  override def hasNext: Boolean = rows.hasNext || {
    if (!isOver) {
      isOver = true
      check()
    }
    false
  }

  override def next(): InternalRow =
    if (!hasNext) throw new NoSuchElementException("no further row")
    else {
      val row = rows.next()
      val place = read.rows
      read.add(row)
      if (judgements.moveTo(place)) judge(row)
      row
    }

  private def check(): Unit =
    if (read.rows != judgements.rows || read.sum != judgements.sum) {
      val difference =
        if (read.rows == judgements.rows) " with other times or in another order" else ""
      throw new TransomException(
        "TRANSOM_ROWS_CHANGED",
        Map(
          "operator" -> operator,
          "now" -> s"${read.rows} rows$difference",
          "before" -> s"${math.max(0L, judgements.rows)} rows"))
    }

  private def judge(row: UnsafeRow): Unit = {
    judgement.read(judgements.time, judgements.watermark, judgements.code)
    // A dropped row keeps its own time, for its dead letter.
    if (judgement.dropped == null) row.setLong(0, judgement.time)
    row.setLong(watermarkAt, judgement.watermark)
    row.setLong(watermarkAt + 1, judgements.code)
  }
}
