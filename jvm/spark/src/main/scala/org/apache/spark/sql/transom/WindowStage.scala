package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

import transom.engine.{GlobalGrid, Grid, TimeWindow}
import transom.engine.log.SessionLog
import transom.engine.spec
import transom.engine.spec.LateRows

/** What the tasks of one window stage have to know.
  *
  * Its attributes are its own: the plan maps its input onto them by position, so that Spark may
  * rename columns around it.
  *
  * @param time
  *   a row's time, microseconds
  * @param keys
  *   the grouping attributes: comparable by their bytes
  * @param aggregates
  *   the functions, their inputs plain attributes
  * @param row
  *   the columns of an input row, if late rows are handed on
  * @param firedColumns
  *   how many columns its rows have: keys, start, end, the functions' results, and a late row if
  *   those are handed on
  */
final case class WindowStage(
    spec: StageSpec,
    windows: Windows,
    keyGroups: Int,
    lateRows: LateRows,
    time: Attribute,
    keys: Seq[Attribute],
    inputs: Seq[Attribute],
    row: Seq[Attribute],
    aggregates: Seq[AggregateExpression],
    firedColumns: Int) {

  def name: String = spec.name

  /** Short: it stands in each of the plans that Spark prints of a query. */
  override def toString: String = s"stage $name"

  def functions: Seq[AggregateFunction] = aggregates.map(_.aggregateFunction)

  /** The columns of an accumulator. */
  def buffers: Seq[AttributeReference] = functions.flatMap(_.inputAggBufferAttributes)

  def isSession: Boolean = windows.isInstanceOf[SessionWindows]

  /** All columns that a row brings along. */
  def columns: Seq[Attribute] = (time +: keys) ++ inputs ++ row
}

/** The assigner of a stage as its tasks use it; times are instants in microseconds. */
sealed trait Windows extends Serializable {

  /** What is subtracted from each watermark: a tick for windows that include their end, which
    * fire past it.
    */
  def watermarkShift: Long

  /** What is subtracted from the time of each row: with that tick, windows of a grid include
    * their end instead of their start. A session starts at a row.
    */
  def timeShift: Long

  /** The pane of a row, `Grid.NoPane` if it belongs to no window. */
  def paneOf(time: Long): Long

  /** Whether none of the row's windows is open at `watermark`, as far as the row alone can tell.
    */
  def isLate(time: Long, pane: Long, watermark: Long): Boolean

  /** Whether some of the windows of a pane, but not all, have fired at `watermark`. */
  def isPartlyLate(pane: Long, watermark: Long): Boolean

  /** The windows of a row that had fired by `watermark`, in instants. */
  def missed(time: Long, watermark: Long): Seq[TimeWindow]
}

final case class GridWindows(grid: Grid, watermarkShift: Long) extends Windows {
  override def timeShift: Long = watermarkShift
  override def paneOf(time: Long): Long = grid.paneOf(time)
  override def isLate(time: Long, pane: Long, watermark: Long): Boolean =
    grid.lastDue(pane) <= watermark
  override def isPartlyLate(pane: Long, watermark: Long): Boolean =
    grid.due(grid.firstWindow(pane, Long.MinValue)) <= watermark
  override def missed(time: Long, watermark: Long): Seq[TimeWindow] =
    grid
      .windowsOf(time)
      .filter(grid.due(_) <= watermark)
      .map(window => TimeWindow(grid.instantOf(window.start), grid.due(window)))
}

final case class SessionWindows(gap: Long, inclusive: Boolean, watermarkShift: Long)
    extends Windows {
  override def timeShift: Long = 0L
  override def paneOf(time: Long): Long = SessionLog.paneOf(time, gap)
  override def isLate(time: Long, pane: Long, watermark: Long): Boolean = time + gap <= watermark
  override def isPartlyLate(pane: Long, watermark: Long): Boolean = false
  override def missed(time: Long, watermark: Long): Seq[TimeWindow] =
    Seq(TimeWindow(time, time + gap))
}

object Windows {
  def of(window: spec.Window): Windows = window match {
    case grid: spec.GridWindow => GridWindows(Grid.of(grid), shiftOf(grid.closed))
    case spec.Global => GridWindows(GlobalGrid, 0L)
    case session: spec.Session =>
      SessionWindows(session.gapUs, session.inclusive, shiftOf(session.closed))
    case other => throw new IllegalArgumentException(s"$other are no windows of the pane log")
  }

  private def shiftOf(closed: spec.Closed): Long = if (closed == spec.Closed.Right) 1L else 0L
}

/** The rows between the map side and the key groups.
  *
  * {{{
  * group      id of the key group, see KeyGroups.idOf
  * kind       what the payload is
  * pane       the pane of a segment
  * judged_by  the watermark by which late rows were told apart
  * payload    a segment, a late row, or counts
  * }}}
  */
object Exchanged {
  val Group = 0
  val Kind = 1
  val Pane = 2
  val JudgedBy = 3
  val Payload = 4

  val Segment = 0
  val Late = 1
  val Counts = 2

  val types: Array[DataType] = Array(IntegerType, IntegerType, LongType, LongType, BinaryType)

  def attributes: Seq[AttributeReference] =
    Seq("group", "kind", "pane", "judged_by", "payload").zip(types).map { case (name, dataType) =>
      AttributeReference(name, dataType, nullable = false)()
    }
}
