package org.apache.spark.sql.transom

import java.nio.ByteBuffer
import java.util.function.{LongSupplier, LongUnaryOperator}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, UnaryExecNode}
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
    val bytes = ByteBuffer
      .allocate(40)
      .putLong(in)
      .putLong(late)
      .putLong(latePartly)
      .putLong(inGaps)
      .putLong(withoutTime)
      .array
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

/** The judgement of one task over its rows: which pane, and whether late. What goes no further is
  * counted: rows without a time, rows in the gap between windows, late rows that nobody asked
  * for.
  *
  * Generated code calls it by the JDK's interfaces: on the driver the compiler of Spark sees no
  * class of a jar that was added to a running session.
  *
  * @param watermark
  *   by which rows are late, microseconds; `Long.MinValue` if there is none
  */
final class Stamper(stage: WindowStage, watermark: Long, counts: RowCounts)
    extends LongUnaryOperator
    with LongSupplier
    with Runnable
    with Serializable {
  private val windows = stage.windows
  private val judgedBy = if (watermark == Long.MinValue) watermark else watermark - windows.shift
  private val keepsLate = stage.lateColumn != LateColumn.Absent
  private var lateRows = 0L
  private var lateNumber = 0L

  /** The pane of a row by its time, `Grid.NoPane` if it goes no further. */
  override def applyAsLong(time: Long): Long = {
    counts.in += 1
    val at = time - windows.shift
    val pane = windows.paneOf(at)
    if (pane == Grid.NoPane) {
      counts.inGaps += 1
      Grid.NoPane
    } else if (!windows.isLate(at, pane, judgedBy)) {
      lateNumber = 0L
      pane
    } else if (keepsLate) {
      lateRows += 1
      lateNumber = lateRows
      pane
    } else {
      counts.late += 1
      Grid.NoPane
    }
  }

  /** A number for the row that has just got its pane if it is late, else 0. */
  override def getAsLong: Long = lateNumber

  /** Takes note of a row without a time. */
  override def run(): Unit = {
    counts.in += 1
    counts.withoutTime += 1
  }

  def isPartlyLate(pane: Long): Boolean = {
    val partly = windows.isPartlyLate(pane, judgedBy)
    if (partly) counts.latePartly += 1
    partly
  }
}

/** Stamps rows, map side, with their pane and tells the late ones apart, by the watermark that
  * Spark would judge them by. A late row that goes further is told by its `late` column, which
  * also keeps it apart, so that it passes the partial aggregate as a group of its own.
  *
  * Generated code carries the rows from the scan through here into the aggregate, without a row
  * being built in between; only rows that late ones are copied from must be built.
  *
  * @param counts
  *   shared with the exec above that hands them on; both run in one task
  */
case class StampExec(
    stage: WindowStage,
    stamps: Seq[Attribute],
    counts: RowCounts,
    operator: String,
    child: SparkPlan)
    extends UnaryExecNode
    with CodegenSupport {

  override def output: Seq[Attribute] = child.output ++ stamps

  override def producedAttributes: AttributeSet = AttributeSet(stamps)

  override def usedInputs: AttributeSet = AttributeSet(stage.time)

  override def supportCodegen: Boolean = stage.lateColumn != LateColumn.Rows

  private def timeAt: Int = child.output.indexWhere(_.exprId == stage.time.exprId)

  /** Made on the driver, for each batch anew. */
  private def stamper(): Stamper = {
    CheckpointedSpec.check(session, this)
    new Stamper(stage, JudgingWatermark.of(session, operator), counts)
  }

  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs()

  override protected def doProduce(ctx: CodegenContext): String =
    child.asInstanceOf[CodegenSupport].produce(ctx, this)

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val made = stamper()
    def as(interface: Class[_]): String = ctx.addReferenceObj("stamper", made, interface.getName)
    val toPane = as(classOf[LongUnaryOperator])
    val toLate = as(classOf[LongSupplier])
    val withoutTime = as(classOf[Runnable])
    val evaluated = evaluateRequiredVariables(child.output, input, usedInputs)
    val time = input(timeAt)
    val pane = ctx.freshName("pane")
    val late = ctx.freshName("late")
    val stamped = Seq(pane, late).take(stamps.length).map { name =>
      ExprCode(FalseLiteral, JavaCode.variable(name, LongType))
    }
    s"""
       |$evaluated
       |if (${time.isNull}) {
       |  $withoutTime.run();
       |} else {
       |  long $pane = $toPane.applyAsLong(${time.value});
       |  if ($pane != ${Grid.NoPane}L) {
       |    long $late = $toLate.getAsLong();
       |    ${consume(ctx, input ++ stamped)}
       |  }
       |}
     """.stripMargin
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val rowStamper = new RowStamper(stage, child.output, timeAt, stamper())
    child.execute().mapPartitions(rowStamper.stamp)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): StampExec =
    copy(child = newChild)
}

/** The stamping of a task row by row, with late rows copied if they are to be handed on. */
final class RowStamper(stage: WindowStage, input: Seq[Attribute], timeAt: Int, stamper: Stamper)
    extends Serializable {

  def stamp(rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val stampTypes = LongType +: stage.lateColumn.dataType.toSeq
    val stamps = new GenericInternalRow(stampTypes.length)
    val joined = new JoinedRow
    val project = UnsafeProjection.create((input.map(_.dataType) ++ stampTypes).toArray)
    lazy val ride = new LateBytes(stage, input)

    def stamped(row: InternalRow, pane: Long, late: Any): Iterator[InternalRow] = {
      stamps.setLong(0, pane)
      if (stampTypes.length > 1) stamps.update(1, late)
      Iterator.single(project(joined(row, stamps)))
    }

    def judged(row: InternalRow, time: Long): Iterator[InternalRow] = {
      val pane = stamper.applyAsLong(time)
      val number = stamper.getAsLong
      if (pane == Grid.NoPane) Iterator.empty
      else if (stage.lateColumn != LateColumn.Rows) stamped(row, pane, number)
      else if (number > 0) stamped(row, pane, ride.bytes(row, number, time, LateBytes.Late))
      else if (stage.lateRows == LateRows.Partly && stamper.isPartlyLate(pane))
        // By name: the first is copied into the aggregate before the second is built.
        stamped(row, pane, null) ++ stamped(
          row,
          pane,
          ride.bytes(row, -ride.next(), time, LateBytes.Partly))
      else stamped(row, pane, null)
    }

    rows.flatMap { row =>
      if (row.isNullAt(timeAt)) {
        stamper.run()
        Iterator.empty
      } else judged(row, row.getLong(timeAt))
    }
  }
}

/** What a late row carries through the partial aggregate: a number that keeps it apart, its time,
  * why it is late, and itself if that is wanted.
  */
final class LateBytes(stage: WindowStage, input: Seq[Attribute]) {
  private val project = UnsafeProjection.create(stage.row, input)
  private var numbered = 0L

  /** A number for a row that is late for some of its windows only. */
  def next(): Long = {
    numbered += 1
    numbered
  }

  def bytes(row: InternalRow, number: Long, time: Long, reason: Int): Array[Byte] = {
    val own = project(row).getBytes
    LateBytes.header(own.length, number, time - stage.windows.shift, reason).put(own).array
  }
}

object LateBytes {
  val Late = 0
  val Partly = 1
  private val RowAt = 24

  private def header(length: Int, number: Long, time: Long, reason: Int): ByteBuffer =
    ByteBuffer.allocate(RowAt + length).putLong(number).putLong(time).putLong(reason.toLong)

  /** For a row that is only counted. */
  def withoutRow(number: Long, time: Long): Array[Byte] = header(0, number, time, Late).array

  def time(bytes: Array[Byte], from: Int): Long = ByteBuffer.wrap(bytes).getLong(from + 8)

  def reason(carried: Slice): Int =
    ByteBuffer.wrap(carried.bytes).getLong(carried.offset + 16).toInt

  /** Points at the row itself. */
  def row(carried: Slice, to: UnsafeRow): UnsafeRow = {
    to.pointTo(carried.bytes, UnsafeRows.offset(carried) + RowAt, carried.length - RowAt)
    to
  }
}
