package org.apache.spark.sql.transom

import java.nio.ByteBuffer

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.types._

import transom.engine.Grid
import transom.engine.log.Slice
import transom.engine.spec.LateRows

/** What a task has seen of its input rows; handed on, a row of counts a task. */
final class RowCounts extends Serializable {
  var in: Long = 0L
  var late: Long = 0L
  var latePartly: Long = 0L
  var inGaps: Long = 0L
  var withoutTime: Long = 0L

  /** The counts as bytes; they start anew. */
  def take(): Array[Byte] = {
    val bytes = ByteBuffer.allocate(40).putLong(in).putLong(late).putLong(latePartly).putLong(inGaps)
      .putLong(withoutTime).array
    in = 0L
    late = 0L
    latePartly = 0L
    inGaps = 0L
    withoutTime = 0L
    bytes
  }
}

/** The same counts as a column of the output, null in all rows but those of counts. */
object RowCounts {
  val names: Seq[String] =
    Seq("rows_in", "rows_late", "rows_late_partly", "rows_in_gaps", "rows_without_time")
  val schema: StructType = StructType(names.map(StructField(_, LongType, nullable = false)))

  def read(bytes: Array[Byte]): InternalRow = {
    val in = ByteBuffer.wrap(bytes)
    InternalRow(in.getLong(), in.getLong(), in.getLong(), in.getLong(), in.getLong())
  }

  def ofLate(rows: Long): InternalRow = InternalRow(0L, rows, 0L, 0L, 0L)
}

/**
 * Stamps rows, map side, with their pane and tells the late ones apart, by the watermark that Spark would
 * judge them by. What goes no further is counted: rows without a time, rows in the gap between windows,
 * late rows that nobody asked for.
 *
 * A late row that goes further has `late` set: its own bytes behind a number that keeps it apart, so
 * that it passes the partial aggregate as a group of its own.
 *
 * @param counts
 *   shared with the exec above that hands them on; both run in one task
 */
case class StampExec(
    stage: WindowStage,
    pane: Attribute,
    late: Attribute,
    counts: RowCounts,
    operator: String,
    child: SparkPlan)
    extends UnaryExecNode {

  override def output: Seq[Attribute] = child.output ++ Seq(pane, late)

  override def producedAttributes: AttributeSet = AttributeSet(Seq(pane, late))

  override protected def doExecute(): RDD[InternalRow] = {
    val stamper = Stamper(stage, child.output, JudgingWatermark.of(session, operator))
    val counted = counts
    child.execute().mapPartitions(rows => stamper.stamp(rows, counted))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): StampExec = copy(child = newChild)
}

/** The stamping of one task. */
final case class Stamper(stage: WindowStage, input: Seq[Attribute], watermark: Long) {

  def stamp(rows: Iterator[InternalRow], counts: RowCounts): Iterator[InternalRow] = {
    val windows = stage.windows
    val timeAt = input.indexWhere(_.exprId == stage.time.exprId)
    val judgedBy = if (watermark == Long.MinValue) watermark else watermark - windows.shift
    val keepsLate = stage.isSession || stage.lateRows != LateRows.No
    val ride = new LateBytes(stage, input)
    val stamps = new GenericInternalRow(2)
    val joined = new JoinedRow
    val project = UnsafeProjection.create(
      (input.map(_.dataType) ++ Seq(LongType, BinaryType)).zipWithIndex
        .map { case (dataType, i) => BoundReference(i, dataType, nullable = true) })

    def stamped(row: InternalRow, pane: Long, late: Array[Byte]): InternalRow = {
      stamps.setLong(0, pane)
      stamps.update(1, late)
      project(joined(row, stamps))
    }

    def judged(row: InternalRow, at: Long, pane: Long): Iterator[InternalRow] =
      if (windows.isLate(at, pane, judgedBy)) {
        if (keepsLate) Iterator.single(stamped(row, pane, ride.bytes(row, at, LateBytes.Late)))
        else {
          counts.late += 1
          Iterator.empty
        }
      } else if (stage.lateRows == LateRows.Partly && windows.isPartlyLate(pane, judgedBy)) {
        counts.latePartly += 1
        // The first is taken from the iterator, and copied into the aggregate, before the second is made.
        Iterator.single(stamped(row, pane, null)) ++
          Iterator.single(stamped(row, pane, ride.bytes(row, at, LateBytes.Partly)))
      } else Iterator.single(stamped(row, pane, null))

    rows.flatMap { row =>
      counts.in += 1
      if (row.isNullAt(timeAt)) {
        counts.withoutTime += 1
        Iterator.empty
      } else {
        val at = row.getLong(timeAt) - windows.shift
        val pane = windows.paneOf(at)
        if (pane == Grid.NoPane) {
          counts.inGaps += 1
          Iterator.empty
        } else judged(row, at, pane)
      }
    }
  }
}

/**
 * What a late row carries through the partial aggregate: a number that keeps it apart, its time, why it
 * is late, and itself if that is wanted.
 */
final class LateBytes(stage: WindowStage, input: Seq[Attribute]) {
  private val project = UnsafeProjection.create(stage.row, input)
  private var number = 0L

  def bytes(row: InternalRow, time: Long, reason: Int): Array[Byte] = {
    number += 1
    val own = project(row).getBytes
    val out = ByteBuffer.allocate(LateBytes.RowAt + own.length)
    out.putLong(number).putLong(time).putLong(reason.toLong).put(own).array
  }
}

object LateBytes {
  val Late = 0
  val Partly = 1
  private[transom] val RowAt = 24

  def time(bytes: Array[Byte], from: Int): Long = ByteBuffer.wrap(bytes).getLong(from + 8)

  def reason(carried: Slice): Int = ByteBuffer.wrap(carried.bytes).getLong(carried.offset + 16).toInt

  /** Points at the row itself. */
  def row(carried: Slice, to: UnsafeRow): UnsafeRow = {
    to.pointTo(carried.bytes, UnsafeRows.offset(carried) + RowAt, carried.length - RowAt)
    to
  }
}
