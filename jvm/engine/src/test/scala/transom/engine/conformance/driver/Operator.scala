package transom.engine.conformance.driver

import java.nio.ByteBuffer

import scala.collection.mutable.ArrayBuffer

import transom.engine.runtime._
import transom.engine.spec.{ProcessingTime, WindowSpec}
import transom.engine.state.{ByteRange, SegmentWriter}
import transom.engine.time.{Advance, Ticks, Watermark}
import transom.engine.window.{Custom, Grid, GridWindow, LateStart, MissedWindows, RowContext, TimeConvention, TimeWindow}

/** Runs one of the engine's operators over one key group, with state in memory.
  *
  * Each call is a batch with a new operator, so only the state lasts from call to call. Times and
  * watermarks are in the host's convention: after a watermark, no row with an earlier time
  * arrives.
  */
abstract class Operator(spec: WindowSpec) {
  private val fired = ArrayBuffer.empty[Fired]
  private val ended = ArrayBuffer.empty[TimeWindow]
  private var watermark = Watermark.NotYet
  private var clock = Watermark.NotYet
  protected val convention: TimeConvention = spec.window.convention

  /** The watermark at which the key group has work to do. */
  var nextTimer: Long = Long.MaxValue

  /** The metrics that are not sums, after the last batch. */
  var gauges: Option[Gauges] = None

  /** The counts of all rows. */
  val counts = new RowCounts

  /** Opens the operator on the state of the key group. */
  def open(clock: Long): KeyGroupOperator[Output]

  /** Returns the inputs that the map side creates from rows. May count rows.
    *
    * @param lateWatermark
    *   the watermark by which rows are late, in the engine's convention
    */
  protected def mapSide(rows: Seq[Row], lateWatermark: Long): Seq[GroupInput]

  /** Whether no state is left. */
  def isEmpty: Boolean

  /** The number of rows that are stored one by one. */
  def storedRows: Int = 0

  /** Runs a batch of rows.
    *
    * @param lateWatermark
    *   the watermark by which rows are late
    * @param watermark
    *   the watermark by which windows fire
    */
  def batch(rows: Seq[Row], lateWatermark: Long, watermark: Long): Seq[Output] = {
    this.watermark = watermark
    rows.headOption.foreach(row => clock = row.clock)
    run(mapSide(rows, convention.watermarkIn(lateWatermark)).iterator)
  }

  /** Adds rows that met `watermark`. Returns the rows that Flink reports as late: rows behind the
    * watermark that count in no window, including rows in gaps.
    */
  def process(rows: Seq[Row], watermark: Long): Seq[Row] = {
    val late = keep(batch(rows, watermark, this.watermark)).collect {
      case side if side.reason != LateReason.LatePartly => side.row
    }.toSet
    if (spec.time.contains(ProcessingTime)) Nil
    else rows.filter(row => (late(row.arrival) || isInGap(row)) && isBehind(row, watermark))
  }

  private def isBehind(row: Row, watermark: Long): Boolean = {
    // The lateness keeps sessions open, but lets no row open one (Atlas).
    val lateness =
      if (spec.window.lateStart == LateStart.Reject) 0L else spec.allowedLatenessUs
    row.time.exists(Ticks.add(_, lateness) < watermark)
  }

  private def isInGap(row: Row): Boolean = spec.window match {
    case grid: GridWindow =>
      grid.grid.sliceOf(convention.timeIn(row.time.get)) == Grid.NoSlice
    case _: Custom => row.windows.isEmpty
    case _ => false
  }

  /** Fires the windows that end by `watermark`. */
  def fire(watermark: Long): Seq[Fired] = {
    advance(watermark)
    takeFired()
  }

  def advance(watermark: Long): Unit = {
    this.watermark = watermark
    keep(run(Iterator.empty)): Unit
  }

  /** Advances to a watermark that the idle timeout has moved from `watermarkByRows`. */
  def advanceIdle(watermark: Long, watermarkByRows: Long): Unit = {
    this.watermark = watermark
    val moved = new GroupInput.Advanced(
      Advance(Watermark.NotYet, watermark, watermarkByRows).map(convention.watermarkIn))
    keep(open(clock).process(Iterator.single(moved)).toVector): Unit
  }

  /** Moves the wall clock. */
  def tick(clock: Long): Unit = {
    this.clock = clock
    keep(run(Iterator.single(GroupInput.Tick))): Unit
  }

  /** The results since the last call. */
  def takeFired(): Seq[Fired] = {
    val taken = fired.toVector
    fired.clear()
    taken
  }

  /** The windows that were removed since the last call, if the plan reports them. */
  def takeEnded(): Seq[TimeWindow] = {
    val taken = ended.toVector
    ended.clear()
    taken
  }

  private def run(inputs: Iterator[GroupInput]): Seq[Output] = {
    val operator = open(clock)
    val reached = new GroupInput.Advanced(Advance.to(convention.watermarkIn(watermark)))
    val outputs = operator.process(inputs ++ Iterator.single(reached)).toVector
    nextTimer = operator.nextTimer
    gauges = operator.gauges
    counts.add(operator.counts.bytes)
    outputs
  }

  /** Keeps results for later, and returns the rows of side outputs. */
  private def keep(outputs: Seq[Output]): Seq[SideRow] = outputs.flatMap {
    case result: Fired =>
      fired += result
      None
    case Ended(window) =>
      ended += window
      None
    case side: SideRow => Some(side)
    case _: ResultWatermark => None
  }
}

/** Creates inputs from rows. */
object Operator {
  private val ByteRangeOrder: Ordering[ByteRange] = (a, b) => a.compareTo(b)

  /** Builds one segment from rows. `append` writes a row to the segment. */
  def segment(rows: Seq[Row])(append: (SegmentWriter, Row) => Unit): Array[Byte] = {
    val writer = new SegmentWriter
    rows
      .sortBy(row => (row.hash, row.keyBytes))(Ordering.Tuple2(Ordering.Long, ByteRangeOrder))
      .foreach(append(writer, _))
    writer.take()
  }

  /** The input of a single row. */
  def input(
      row: Row,
      value: ByteRange,
      convention: TimeConvention,
      lateWatermark: Long,
      isPartlyLate: Boolean = false): GroupInput.Row = {
    val input = new GroupInput.Row
    input.key.set(row.keyBytes)
    input.value.set(value)
    input.input.set(RowList.range(ByteBuffer.allocate(8).putLong(row.arrival).array))
    input.context.time = row.time.fold(RowContext.NoTime)(convention.timeIn)
    input.context.watermark = row.met.fold(lateWatermark)(convention.watermarkIn)
    input.context.gap = row.gap
    input.context.windows = row.windows
    input.context.end =
      if (row.end == RowContext.NoEnd) RowContext.NoEnd else convention.timeIn(row.end)
    input.isPartlyLate = isPartlyLate
    input
  }

  /** Identifies rows by the number that `input` has stored. */
  object Side extends SideOutput[Output] {
    override def row(
        input: ByteRange,
        reason: SideReason,
        missed: MissedWindows,
        time: Option[Long],
        watermark: Option[Long],
        clock: Long): Output = {
      val number = ByteBuffer.wrap(input.bytes, input.offset, input.length).getLong()
      SideRow(number, reason, missed.listed, time, watermark)
    }

    override def watermark(watermark: Long, clock: Long): Output = ResultWatermark(watermark)
  }
}
