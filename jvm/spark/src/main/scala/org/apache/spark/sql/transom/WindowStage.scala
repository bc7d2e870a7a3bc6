package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

import transom.engine.{GlobalGrid, Grid, TimeWindow}
import transom.engine.log.SessionLog
import transom.engine.spec
import transom.engine.spec.{GridWindow, LateRows, WindowSpec}

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
  *   the functions whose results are handed on, their inputs plain attributes
  * @param hidden
  *   functions that only conditions read
  * @param asked
  *   what triggers and evictors ask, in terms of `record` and the functions' results
  * @param row
  *   the columns of an input row, if rows that no window took are handed on
  * @param contents
  *   the columns of the rows that windows hand out, if they do
  * @param placing
  *   the column by which a row says itself where it belongs, its gap or its windows
  * @param order
  *   what tells the order in which rows arrived, if the order in which they are read does not
  * @param fired
  *   the types of the columns that its rows have: keys, start, end, the functions' results, then
  *   slice, change, what goes with a call, late row and dead letter as far as they are asked for
  */
final case class WindowStage(
    spec: StageSpec,
    settings: WindowSpec,
    choice: LayoutChoice,
    lateRows: LateRows,
    deadLetters: Boolean,
    time: Attribute,
    keys: Seq[Attribute],
    inputs: Seq[Attribute],
    row: Seq[Attribute],
    contents: Seq[Attribute],
    placing: Option[Attribute],
    order: Seq[Attribute],
    aggregates: Seq[AggregateExpression],
    hidden: Seq[AggregateExpression],
    asked: Asked,
    fired: Seq[DataType]) {

  def name: String = spec.name

  def firedColumns: Int = fired.length

  def keyGroups: Int = settings.keyGroups

  /** What is subtracted from each watermark: a tick for windows that include their end, which
    * fire past it.
    */
  val watermarkShift: Long = if (Windows.includeEnd(settings.window)) 1L else 0L

  /** What is subtracted from the time of each row. */
  val timeShift: Long = Windows.timeShift(settings.window)

  def layout: StageLayout = choice.layout

  /** The windows as the slice log has them. */
  lazy val windows: Windows = Windows.of(settings.window)

  /** Whether rows that come in time cross the exchange folded by key and slice. In the keyed
    * layout they do if no one can tell: windows of a grid that fire by the watermark, and
    * aggregates that are the same in any order. Rows behind the watermark may each fire, so they
    * go by themselves.
    */
  val packsPanes: Boolean = layout match {
    case SliceLayout => true
    case KeyedLayout =>
      Layouts.takesPanes(settings) && order.isEmpty &&
      accumulated.map(_.aggregateFunction).forall(RowOrder.isIgnored)
  }

  /** Short: it stands in each of the plans that Spark prints of a query. */
  override def toString: String = s"stage $name"

  /** The functions of an accumulator. */
  def accumulated: Seq[AggregateExpression] = aggregates ++ hidden

  /** The columns of an accumulator. */
  def buffers: Seq[AttributeReference] =
    accumulated.flatMap(_.aggregateFunction.inputAggBufferAttributes)

  def isSession: Boolean = Windows.areSessions(settings.window)

  /** All columns that a row brings along. */
  def columns: Seq[Attribute] =
    (time +: keys) ++ inputs ++ contents ++ row ++ placing ++ order

  /** What the keyed layout knows of a row: the time first, then where it belongs. */
  def record: Seq[Attribute] = (time +: (placing.toSeq ++ inputs ++ contents)).distinct
}

/** The assigner of the slice log as its tasks use it; times are instants in microseconds. */
sealed trait Windows extends Serializable {

  /** The slice of a row, `Grid.NoSlice` if it belongs to no window. */
  def sliceOf(time: Long): Long

  /** Tells the late rows of one task apart. */
  def lateness(watermark: Long): Lateness

  /** The windows of a row that had fired by `watermark`, in instants. */
  def missed(time: Long, watermark: Long): Seq[TimeWindow]
}

final case class GridWindows(grid: Grid) extends Windows {
  override def sliceOf(time: Long): Long = grid.sliceOf(time)
  override def lateness(watermark: Long): Lateness = new SliceLateness(grid, watermark)
  override def missed(time: Long, watermark: Long): Seq[TimeWindow] =
    grid
      .windowsOf(time)
      .filter(grid.endOf(_) <= watermark)
      .map(window => TimeWindow(grid.instantOf(window.start), grid.endOf(window)))
}

final case class SessionWindows(gap: Long, inclusive: Boolean) extends Windows {
  override def sliceOf(time: Long): Long = SessionLog.sliceOf(time, gap)
  override def lateness(watermark: Long): Lateness = new SessionLateness(gap, watermark)
  override def missed(time: Long, watermark: Long): Seq[TimeWindow] =
    Seq(TimeWindow(time, time + gap))
}

object Windows {
  def of(window: spec.Window): Windows = window match {
    case grid: spec.GridWindow => GridWindows(Grid.of(grid))
    case spec.Global => GridWindows(GlobalGrid)
    case session: spec.Session => SessionWindows(session.gapUs, session.inclusive)
    case other => throw new IllegalArgumentException(s"$other are no windows of the slice log")
  }

  def includeEnd(window: spec.Window): Boolean = window match {
    case grid: spec.GridWindow => grid.closed == spec.Closed.Right
    case session: spec.Session => session.closed == spec.Closed.Right
    case session: spec.DynamicSession => session.closed == spec.Closed.Right
    case _ => false
  }

  /** What is subtracted from a row's time: with a tick, windows of a grid include their end
    * instead of their start. A session starts at a row.
    */
  def timeShift(window: spec.Window): Long =
    if (window.isInstanceOf[GridWindow] && includeEnd(window)) 1L else 0L

  def areSessions(window: spec.Window): Boolean = window match {
    case _: spec.Session | _: spec.DynamicSession => true
    case _ => false
  }
}

/** The rows between the map side and the key groups.
  *
  * {{{
  * group      id of the key group, see KeyGroups.idOf
  * kind       what the payload is
  * place      where it stands in the order of arrival
  * judged_by  the watermark that the rows met
  * payload    a parcel of segments, a late row, counts, rows, a dead letter, or nothing with a tick of the clock
  * }}}
  *
  * Behind them stand the columns of a row that tell the order of arrival, if there are any.
  */
object Exchanged {
  final val Group = 0
  final val Kind = 1
  final val Place = 2
  final val LateWatermark = 3
  final val Payload = 4

  final val Segments = 0
  final val Late = 1
  final val Counts = 2
  final val Rows = 3
  final val Dead = 4
  final val Tick = 5

  /** A payload is handed on at this size. A task holds one for each key group, and they are
    * copied and sorted whole: so they are small, and yet take some hundred rows across at once.
    */
  final val FullPayload = 48 << 10

  private val columns = Seq(
    "group" -> IntegerType,
    "kind" -> IntegerType,
    "place" -> LongType,
    "judged_by" -> LongType,
    "payload" -> BinaryType)

  def attributes(order: Seq[Attribute]): Seq[Attribute] =
    columns.map { case (name, dataType) =>
      AttributeReference(name, dataType, nullable = false)()
    } ++ order.map(_.newInstance().withNullability(true))

  /** What sorts them group by group, in any order within. */
  def byGroup(attributes: Seq[Attribute]): Seq[SortOrder] =
    Seq(SortOrder(attributes(Group), Ascending))

  /** What sorts them into the order of arrival, group by group. */
  def inOrder(attributes: Seq[Attribute]): Seq[SortOrder] =
    (attributes(Group) +: attributes.drop(columns.length) :+ attributes(Place))
      .map(SortOrder(_, Ascending))

  /** Makes rows of their values. */
  def projection(order: Seq[Attribute]): UnsafeProjection =
    InterpretedUnsafeProjection.createProjection(
      (columns.map(_._2) ++ order.map(_.dataType)).zipWithIndex.map { case (dataType, i) =>
        BoundReference(i, dataType, nullable = i >= columns.length)
      })
}
