package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

import transom.engine.spec.{LateRows, WindowSpec}

/** What the tasks of one window operator have to know.
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
  * @param userExpressions
  *   what triggers and evictors ask, in terms of `record` and the functions' results
  * @param row
  *   the columns of an input row, if rows that no window took are handed on
  * @param contents
  *   the columns of the rows that windows hand out, if they do
  * @param windowColumn
  *   the column by which a row says itself where it belongs, its gap or its windows
  * @param order
  *   what tells the order in which rows arrived, if the order in which they are read does not
  * @param outputTypes
  *   the types of the columns that its rows have: keys, start, end, the functions' results, then
  *   pane, change, what goes with a call, late row and dead letter as far as they are asked for
  */
final case class WindowOperatorPlan(
    spec: OperatorSpec,
    settings: WindowSpec,
    choice: LayoutChoice,
    lateRows: LateRows,
    deadLetters: Boolean,
    time: Attribute,
    keys: Seq[Attribute],
    inputs: Seq[Attribute],
    row: Seq[Attribute],
    contents: Seq[Attribute],
    windowColumn: Option[Attribute],
    order: Seq[Attribute],
    aggregates: Seq[AggregateExpression],
    hidden: Seq[AggregateExpression],
    userExpressions: UserExpressions,
    outputTypes: Seq[DataType]) {

  def name: String = spec.name

  def outputWidth: Int = outputTypes.length

  def keyGroups: Int = settings.keyGroups

  /** What is subtracted from each watermark: a tick for windows that include their end, which
    * fire past it.
    */
  val watermarkShift: Long = if (Windows.includeEnd(settings.window)) 1L else 0L

  /** What is subtracted from the time of each row. */
  val timeShift: Long = Windows.timeShift(settings.window)

  def layout: StateLayout = choice.layout

  /** The windows as the slice log has them. */
  lazy val windows: Windows = Windows.of(settings.window)

  /** Whether rows that come in time cross the exchange folded by key and slice. In the keyed
    * layout they do if no one can tell: windows of a grid that fire by the watermark, and
    * aggregates that are the same in any order. Rows behind the watermark may each fire, so they
    * go by themselves.
    */
  val hasMapSideCombine: Boolean = layout match {
    case SliceLayout => true
    case KeyedLayout =>
      Layouts.canCombineSlices(settings) && order.isEmpty &&
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
    (time +: keys) ++ inputs ++ contents ++ row ++ windowColumn ++ order

  /** What the keyed layout knows of a row: the time first, then where it belongs. */
  def record: Seq[Attribute] = (time +: (windowColumn.toSeq ++ inputs ++ contents)).distinct
}
