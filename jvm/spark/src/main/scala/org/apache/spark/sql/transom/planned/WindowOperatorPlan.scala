package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.transom.function.{PythonPartials, RowOrder, Top}
import org.apache.spark.sql.transom.schema.{StateSchema, StateSchemas}
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.spec.{LateRows, LayoutRules, WindowSpec}
import transom.engine.window.{SliceAssigner, TimeConvention, Windows}

/** The plan of one window operator, as its tasks receive it.
  *
  * The operator has its own attributes. Input columns are mapped to these attributes by position,
  * so Spark may rename the columns around the operator.
  *
  * @param time
  *   the event time of a row, in microseconds since 1970
  * @param keys
  *   the grouping attributes, in a form whose bytes can be compared
  * @param keyFailed
  *   whether a key of a row failed; none if the operator receives no such row
  * @param inputs
  *   the columns that functions, triggers and evictors read
  * @param row
  *   the columns of an input row if late rows or dead letters are emitted, else empty
  * @param callColumns
  *   the columns of the rows that a user function receives, else empty
  * @param placement
  *   the column that places a row in its windows, if the time is not enough
  * @param judgement
  *   the columns that a time stage has added to the rows, if one precedes the operator
  * @param watermarkSource
  *   the name of the watermark that moves the windows, if it belongs to the operator whose
  *   results are the rows, or to the time stage that precedes the operator
  * @param substreams
  *   the columns that identify and judge the rows of substreams, if the time policy has any
  * @param order
  *   the columns that define the order of arrival; empty if rows keep the order in which they are
  *   read
  * @param aggregates
  *   the functions whose results are emitted; their inputs are plain attributes
  * @param hidden
  *   the functions that only trigger and evictor predicates read
  * @param userExpressions
  *   the predicates and distance functions of triggers and evictors, over `record` and the
  *   results of the functions
  * @param output
  *   the columns that the tasks emit
  * @param query
  *   the id of the streaming query, once a batch is planned
  * @param stored
  *   the schemas of the state in the checkpoint, once a batch is planned; none before, and for a
  *   static DataFrame
  */
final case class WindowOperatorPlan(
    operatorSpec: OperatorSpec,
    spec: WindowSpec,
    choice: LayoutChoice,
    time: Attribute,
    keys: Seq[Attribute],
    keyFailed: Option[Attribute],
    inputs: Seq[Attribute],
    row: Seq[Attribute],
    callColumns: Seq[Attribute],
    placement: Option[Placement],
    judgement: Option[JudgementColumns],
    watermarkSource: Option[String],
    substreams: Option[SubstreamColumns],
    order: Seq[Attribute],
    aggregates: Seq[AggregateExpression],
    hidden: Seq[AggregateExpression],
    userExpressions: UserExpressions,
    output: OutputSchema,
    query: Option[String] = None,
    stored: Option[StateSchemas] = None) {

  def name: String = operatorSpec.name

  def keyGroups: Int = spec.keyGroups

  /** The columns that decide in which key group a row is: the substream, or the key. */
  def grouping: Seq[Attribute] = substreams.fold(keys)(_.keys.map(keys))

  def deadLetters: Boolean = spec.deadLetters

  /** Whether late rows are emitted. */
  def reportsLate: Boolean = spec.lateRows != LateRows.No

  /** Whether rows that the map side accepts may be emitted as late rows or dead letters. */
  def reportsAccepted: Boolean =
    reportsLate || deadLetters && (spec.hasEdges || substreams.isDefined)

  /** Converts between Spark's times and the engine's. */
  val convention: TimeConvention = spec.window.convention

  def layout: StateLayout = choice.layout

  /** Assigns rows to slices. Throws `IllegalArgumentException` for windows that only the keyed
    * layout supports.
    */
  @transient lazy val slices: SliceAssigner = spec.window.sliceAssigner

  /** Whether the map side combines on-time rows by key and slice before the exchange.
    *
    * The slice log always combines. The keyed layout combines only if the result cannot change:
    * grid windows that fire by the watermark, and aggregates that ignore the order of rows. Each
    * row behind the watermark may fire a window, so late rows cross the exchange one by one.
    */
  val hasMapSideCombine: Boolean = layout match {
    case SliceLayout => true
    case KeyedLayout =>
      LayoutRules.canCombineSlices(spec) &&
      accumulated.map(_.aggregateFunction).forall(RowOrder.isIgnored)
  }

  /** The lists that the operator fills with changes: for each the position among the aggregates,
    * and the position of the part of a row in the record.
    */
  @transient lazy val changes: Seq[(Int, Int)] = for {
    (function, i) <- aggregates.zipWithIndex
    part <- PythonPartials.changed(function)
  } yield i -> record.indexWhere(_.exprId == part.exprId)

  /** The ids of several windows in one pass, by the number of the member. Null if they have none.
    */
  @transient lazy val windowIds: IndexedSeq[UTF8String] = spec.window match {
    case Windows(windows) =>
      windows.map(_.id.map(UTF8String.fromString).orNull).toIndexedSeq
    case _ => IndexedSeq.empty
  }

  /** Whether the watermark of the windows is Spark's. */
  def hasSparkWatermark: Boolean = spec.policy.isEmpty && watermarkSource.isEmpty

  /** Whether an operator over the results can follow the watermark of this operator. A late
    * result of the wall clock can come in a batch in which the watermark is not known.
    */
  def offersWatermark: Boolean =
    watermarkSource.isDefined && !(spec.needsClock && spec.allowedLatenessUs > 0)

  /** The name of the watermark that the lifetimes of results have, if an operator can follow it.
    */
  def lifetimes: Option[String] =
    Option.when(offersWatermark && spec.outputPolicy.isDefined && spec.hasWatermarkOfStarts)(
      operatorSpec.lifetimes)

  /** Short, because Spark prints it in each plan of a query. */
  override def toString: String = s"operator $name"

  /** The types of everything that the state holds. */
  @transient lazy val schema: StateSchema = {
    val keepsRows = layout == KeyedLayout && LayoutRules.keepsRows(spec)
    val ofUser = AttributeSet(callColumns) - time -- placing
    StateSchema.of(
      keys,
      buffers,
      if (keepsRows) record else Nil,
      isOwn = !ofUser.contains(_),
      tops.map(_.rowType))
  }

  /** The schemas with which the state was written. */
  def schemas: StateSchemas = stored.getOrElse(StateSchemas.only(schema))

  /** The plan over a state that was written with some schemas. */
  def over(schemas: StateSchemas): WindowOperatorPlan = {
    def read(function: AggregateExpression) = function.aggregateFunction match {
      case top: Top =>
        function.copy(aggregateFunction = top.over(schemas, tops.indexWhere(_ eq top)))
      case _ => function
    }
    copy(aggregates = aggregates.map(read), hidden = hidden.map(read), stored = Some(schemas))
  }

  private def tops: Seq[Top] =
    accumulated.map(_.aggregateFunction).collect { case top: Top => top }

  /** The functions whose partial results an accumulator holds. */
  def accumulated: Seq[AggregateExpression] = aggregates ++ hidden

  /** The functions as they aggregate rows. */
  def partialFunctions: Seq[AggregateExpression] = accumulated.map(_.copy(mode = Partial))

  /** The functions as they merge accumulators. Filters apply to rows only. */
  def finalFunctions: Seq[AggregateExpression] =
    accumulated.map(_.copy(mode = Final, filter = None))

  def accumulatedResults: Seq[Attribute] = accumulated.map(_.resultAttribute)

  /** The columns of an accumulator. */
  def buffers: Seq[AttributeReference] =
    accumulated.flatMap(_.aggregateFunction.inputAggBufferAttributes)

  private def placing: Option[Attribute] = placement.map(_.column)

  /** All input columns that the operator reads. */
  def columns: Seq[Attribute] =
    (time +: keys) ++ inputs ++ callColumns ++ row ++ placing ++ judgement.toSeq.flatMap(_.all) ++
      substreams.toSeq.flatMap(_.ofPolicy) ++ keyFailed ++ order

  /** The columns of a row in the keyed layout: the time, then the placement if there is one, then
    * the inputs and the contents. With substreams, the operator also reads the columns that judge
    * a row, and the order.
    */
  def record: Seq[Attribute] =
    (time +: (placing.toSeq ++ inputs ++ callColumns ++
      substreams.toSeq.flatMap(_.ofPolicy ++ order))).distinct
}
