package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.transom.function.WithMetadata
import org.apache.spark.sql.transom.planned.{LayoutChoice, OperatorSpec, OutputColumns, JudgementColumns, WindowOperatorPlan, WindowType}
import org.apache.spark.sql.transom.task.{KeyedResults, SideOutputRows}
import org.apache.spark.sql.types._

import transom.engine.setting.Constants
import transom.engine.spec.{LateRows, OutputPolicy, ProcessingTime, WindowSpec => Spec}
import transom.engine.window.{Count, CountByStart, Global, TimeConvention, Windows}

/** The columns that the tasks of a window operator emit, and the columns of its final result. */
final class OperatorOutput(
    df: Dataset[Row],
    operatorSpec: OperatorSpec,
    spec: Spec,
    choice: LayoutChoice,
    aggregation: Aggregation,
    substreams: Option[Substreams] = None,
    watermarkSource: Option[String] = None) {
  private val timeType = aggregation.timeType

  /** The user's columns. */
  private val visible = df.queryExecution.analyzed.output.filterNot(OperatorSpec.isHidden)

  private def attributeOf(tag: String) = {
    val rows = DataTypeUtils.fromAttributes(visible)
    AttributeReference(tag, SideOutputRows.schema(rows, timeType))()
  }
  private val late = Option.when(spec.lateRows != LateRows.No)(attributeOf("late"))
  private val deadLetter = Option.when(spec.deadLetters)(attributeOf("dead_letters"))

  private val watermarks =
    Option.when(spec.watermarks)(
      AttributeReference("watermarks", SideOutputRows.watermarks(timeType))())

  // A static DataFrame has late rows only with a time policy, which judges its rows one by one.
  private val isJudged = spec.policy.isDefined
  private val judgement =
    if (isJudged && substreams.isEmpty) Some(JudgementColumns.create()) else None
  private val hasLateRows = df.isStreaming || isJudged

  /** The columns of the requested side outputs, in the order late rows, dead letters, watermarks.
    */
  private val sideOutputs = (late ++ deadLetter ++ watermarks).toSeq

  // Start and end of a count window are the times of rows. Rows may have no time.
  private val isCount = spec.window.isInstanceOf[Count]
  private val start = AttributeReference("start", timeType, nullable = isCount)()
  private val end = AttributeReference("end", timeType, nullable = isCount)()

  private val clipped = Option.when(spec.lifetime.isDefined && spec.function.takesRows)(
    new ClippedLifetime(aggregation.time, aggregation.placement.get.column, start, end))

  /** The columns of a row of a window for a function called with rows. */
  val callColumns: Seq[Attribute] =
    if (spec.function.takesRows) visible ++ clipped.toSeq.flatMap(_.columns) else Nil
  private val call = Option.when(spec.function.isCalled)(
    new CallColumns(callColumns, spec.function.takesRows, spec.function.keepsByWindow, clipped))

  private val windowId = spec.window match {
    case windows: Windows =>
      val isNamed = windows.windows.forall(_.id.isDefined)
      Some(AttributeReference("window_id", StringType, nullable = !isNamed)())
    case _ => None
  }
  private val pane =
    Option.when(spec.pane)(AttributeReference("pane", KeyedResults.paneType, nullable = false)())
  private val change =
    Option.when(spec.retract)(AttributeReference("change", StringType, nullable = false)())

  private val columns = new OutputColumns(
    keys = aggregation.groups,
    start = start,
    end = end,
    results = aggregation.aggregates.map(_.resultAttribute),
    windowId = windowId,
    pane = pane,
    change = change,
    watermark = call.map(_.watermark),
    isLast = call.flatMap(_.isLast),
    row = call.flatMap(_.row),
    windowGone = call.flatMap(_.windowGone),
    late = late.filter(_ => hasLateRows),
    deadLetter = deadLetter,
    watermarks = watermarks)

  /** The columns of an input row, if a side output emits input rows. */
  val row: Seq[Attribute] =
    if (columns.late.isEmpty && columns.deadLetter.isEmpty) Nil
    else visible

  /** The columns that tasks emit. A row holds the result of a window or, if there are side
    * outputs, one late row or dead letter. Result columns are nullable if a row may have no
    * results. Late rows, dead letters and rows that mark the end of a window have none.
    */
  val output: Seq[Attribute] =
    if (columns.ofSideOutputs.isEmpty && !spec.function.keepsByWindow)
      columns.ofWindow.map(_.newInstance())
    else
      columns.ofWindow.map(_.newInstance().withNullability(true)) ++ columns.ofSideOutputs

  private val values = AttributeMap(columns.ofWindow.zip(output).map { case (column, value) =>
    column -> (if (value.nullable && !column.nullable) KnownNotNull(value) else value)
  })

  private val nullableValues = AttributeMap(columns.ofWindow.zip(output))

  private def computed(column: Expression): Expression =
    column.transformDown {
      // Spark evaluates a Python function for all rows, whatever condition surrounds the call.
      // The function also sees rows without a result, so its inputs must be nullable.
      case udf: PythonUDF =>
        udf.mapChildren(_.transformDown { case a: Attribute => nullableValues.getOrElse(a, a) })
      case a: Attribute => values.getOrElse(a, a)
    }

  /** The columns of a result as the user sees them. */
  private def results: ResultColumns = {
    val keys = aggregation.keyResults.map(key => key.toAttribute -> computed(value(key)))
    val ofKeys = AttributeMap(keys)
    def renamed(column: NamedExpression, value: Expression) =
      Alias(value, column.name)(explicitMetadata = Some(column.metadata))
    new ResultColumns(
      keys = keys.map { case (key, value) => renamed(key, value) },
      window = window,
      firing = (windowId ++ pane).map(resultColumn).toSeq ++ lifetime ++ change.map(resultColumn),
      aggregates = aggregation.results.map { result =>
        val ofResults = value(result).transformDown { case a: Attribute =>
          ofKeys.getOrElse(a, a)
        }
        renamed(result, computed(ofResults))
      })
  }

  private def resultColumn(column: Attribute): NamedExpression =
    Alias(computed(column), column.name)()

  /** The lifetime of a result: its window, or a microsecond from the end of its window on. The
    * point of a count window is on its last row.
    */
  private def lifetime: Option[NamedExpression] = spec.outputPolicy.map { policy =>
    val (from, until) = policy match {
      case OutputPolicy.ClipToWindowEnd => (start, end)
      case OutputPolicy.PointAlignToWindowEnd =>
        def moved(by: Long) = {
          val micros = Add(PreciseTimestampConversion(end, timeType, LongType), Literal(by))
          PreciseTimestampConversion(micros, LongType, timeType)
        }
        if (spec.window.isInstanceOf[CountByStart]) (moved(-1L), end) else (end, moved(1L))
    }
    val bounds = CreateNamedStruct(Seq(Literal("start"), from, Literal("end"), until))
    val ofStart = operatorPlan.lifetimes
      .filter(_ => df.isStreaming)
      .fold(Metadata.empty)(new MetadataBuilder().putString(InputWatermark.SourceKey, _).build())
    Alias(WithMetadata(computed(bounds), Seq(ofStart, Metadata.empty)), "lifetime")()
  }

  private def window: NamedExpression = spec.window match {
    case Global => Alias(Literal(null, WindowType.of(timeType)), "window")()
    case _ =>
      val bounds = CreateNamedStruct(Seq(Literal("start"), start, Literal("end"), end))
      val known =
        if (isCount) If(IsNull(start), Literal(null, bounds.dataType), bounds) else bounds
      Alias(computed(known), "window")(explicitMetadata = Some(windowMetadata))
  }

  /** Projects the operator's output to the columns that the user sees.
    *
    * Each column gets an expression id of its own, so that Spark can join a result with itself.
    * The final expressions over the aggregates are computed here, because only a Spark plan can
    * call Python or run a subquery.
    */
  def named(plan: LogicalPlan): LogicalPlan =
    if (call.isDefined) Project(calls(call.get), plan)
    else if (sideOutputs.isEmpty) Project(results.all, plan)
    else {
      val result = WithMetadata(
        CreateNamedStruct(results.all.flatMap(r => Seq(Literal(r.name), value(r)))),
        results.all.map(_.metadata))
      val tag = columns.ofSideOutputs.foldRight[Expression](Literal(OperatorOutput.Results)) {
        (sideOutput, other) =>
          If(IsNull(sideOutput), other, Literal(sideOutput.name))
      }
      val front =
        Seq(Alias(tag, "tag")(), Alias(unlessSideOutput(result), OperatorOutput.Results)())
      Project(front ++ sideOutputColumns, plan)
    }

  /** The columns that the user's function receives.
    *
    * The rows of one call follow each other, and the last row is marked. Late rows and dead
    * letters may appear between the rows of a call.
    */
  private def calls(call: CallColumns): Seq[NamedExpression] = {
    def ofCall(column: NamedExpression, name: String): NamedExpression =
      Alias(unlessSideOutput(computed(value(column))), name)(explicitMetadata =
        Some(column.metadata))
    val ofResults = results
    // The original key is read from a row, and a window may have no rows left. The state of a key
    // is therefore found by its grouping columns.
    val groups = if (spec.function.keepsState) aggregation.groups else Nil
    ofResults.keys.map(key => ofCall(key, Constants.CallKeyPrefix + key.name)) ++
      groups.zipWithIndex.map { case (group, i) =>
        ofCall(Alias(OperatorOutput.withoutTimes(group), group.name)(), s"group_$i")
      } ++
      (ofResults.window +: (ofResults.firing ++ call.columns(ofResults.aggregates))).map(column =>
        ofCall(column, column.name)) ++ sideOutputColumns
  }

  private def unlessSideOutput(known: Expression): Expression =
    columns.ofSideOutputs.foldRight(known)((sideOutput, known) =>
      If(IsNull(sideOutput), known, Literal(null, known.dataType)))

  private def sideOutputColumns: Seq[NamedExpression] = sideOutputs.map { sideOutput =>
    Alias(
      if (columns.ofSideOutputs.contains(sideOutput)) sideOutput
      else Literal(null, sideOutput.dataType),
      sideOutput.name)()
  }

  private def value(column: NamedExpression): Expression = column match {
    case Alias(child, _) => child
    case other => other
  }

  val operatorPlan: WindowOperatorPlan = WindowOperatorPlan(
    operatorSpec = operatorSpec,
    spec = if (hasLateRows) spec else spec.copy(lateRows = LateRows.No),
    choice = choice,
    time = aggregation.time,
    keys = aggregation.groups,
    // A time stage has already set such rows aside.
    keyFailed = if (judgement.isDefined) None else aggregation.keyFailed,
    inputs = aggregation.inputs,
    row = row,
    callColumns = callColumns,
    placement = aggregation.placement,
    judgement = judgement,
    watermarkSource = if (judgement.isDefined) Some(operatorSpec.timeStage) else watermarkSource,
    substreams = substreams.map(_.columns),
    order = substreams.fold(aggregation.order)(_.order),
    aggregates = aggregation.aggregates,
    hidden = aggregation.hidden,
    userExpressions = aggregation.userExpressions,
    output = columns.schema)

  /** Metadata that marks the window column for Spark's window functions, and says whether the end
    * belongs to the window, and which watermark the results have: that of Spark, with its delay,
    * or that of this operator.
    */
  private def windowMetadata: Metadata = {
    val metadata = new MetadataBuilder()
      .putBoolean(if (spec.window.isSession) SessionWindow.marker else TimeWindow.marker, true)
    val delay = EventTimeWatermark.delayKey
    if (operatorPlan.convention != TimeConvention.Start)
      metadata.putBoolean(RowColumns.IncludesEnd, true)
    if (df.isStreaming && operatorPlan.offersWatermark)
      metadata.putString(InputWatermark.SourceKey, operatorPlan.name)
    else if (!spec.time.contains(ProcessingTime))
      df.queryExecution.analyzed.output.find(_.metadata.contains(delay)).foreach { column =>
        metadata.putLong(delay, column.metadata.getLong(delay))
      }
    metadata.build()
  }
}

/** The columns of a result as the user sees them.
  *
  * @param firing
  *   the columns that describe a firing, if the spec requests them
  */
private final class ResultColumns(
    val keys: Seq[NamedExpression],
    val window: NamedExpression,
    val firing: Seq[NamedExpression],
    val aggregates: Seq[NamedExpression]) {
  def all: Seq[NamedExpression] = (keys :+ window) ++ firing ++ aggregates
}

/** Names and types that output columns share. */
object OperatorOutput {
  private final val Results = "results"

  /** A value with numbers in place of its times and dates. Spark converts the groups of a Python
    * function to values of Python, which has no times outside of the years 1 to 9999.
    */
  private def withoutTimes(e: Expression): Expression = e.dataType match {
    case TimestampType | TimestampNTZType => PreciseTimestampConversion(e, e.dataType, LongType)
    case DateType => UnixDate(e)
    case struct: StructType if struct.existsRecursively(isTime) =>
      val fields = struct.fields.toSeq.zipWithIndex.flatMap { case (field, i) =>
        Seq(Literal(field.name), withoutTimes(GetStructField(e, i, Some(field.name))))
      }
      val numbers = CreateNamedStruct(fields)
      If(IsNull(e), Literal(null, numbers.dataType), numbers)
    case ArrayType(element, containsNull) if element.existsRecursively(isTime) =>
      val each = NamedLambdaVariable("element", element, containsNull)
      ArrayTransform(e, LambdaFunction(withoutTimes(each), Seq(each)))
    case _ => e
  }

  private def isTime(kind: DataType): Boolean = kind match {
    case TimestampType | TimestampNTZType | DateType => true
    case _ => false
  }
}
