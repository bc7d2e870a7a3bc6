package org.apache.spark.sql.transom

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan, Project}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.types._

import transom.engine.spec.{Count, Global, LateRows, WindowSpec}

/** The columns of a stage, as its tasks yield them and as they leave it. */
final class OutputLayout(
    df: Dataset[Row],
    stageSpec: StageSpec,
    spec: WindowSpec,
    aggregation: Aggregation) {
  private val tagged = spec.lateRows != LateRows.No && df.isStreaming
  val row: Seq[Attribute] = if (tagged) df.queryExecution.analyzed.output else Nil

  /** The columns of the rows that windows hand out. */
  val contents: Seq[Attribute] =
    if (spec.function.takesRows)
      df.queryExecution.analyzed.output.filterNot(StageSpec.isHidden)
    else Nil
  private val call =
    if (spec.function.isCalled) Some(new CallColumns(contents, spec.function.takesRows)) else None

  private val timeType = aggregation.timeType
  // The times of a count window's rows, which may have none.
  private val isCount = spec.window.isInstanceOf[Count]
  private val start = AttributeReference("start", timeType, nullable = isCount)()
  private val end = AttributeReference("end", timeType, nullable = isCount)()
  private val pane =
    if (spec.pane) Some(AttributeReference("pane", KeyedResults.paneType, nullable = false)())
    else None
  private val change =
    if (spec.retract) Some(AttributeReference("change", StringType, nullable = false)()) else None
  private val late = AttributeReference("late", LateOutput.schema(df.schema, timeType))()

  /** What a window yields when it fires. */
  private val fired =
    aggregation.groups ++ Seq(start, end) ++ aggregation.aggregates.map(_.resultAttribute) ++
      pane ++ change ++ call.toSeq.flatMap(_.yielded)

  /** What tasks yield: windows or, if late rows are handed on, either a window or a late row. */
  val yielded: Seq[Attribute] =
    if (tagged) fired.map(_.newInstance().withNullability(true)) :+ late
    else fired.map(_.newInstance())

  private val values = AttributeMap(fired.zip(yielded).map { case (column, value) =>
    column -> (if (value.nullable && !column.nullable) KnownNotNull(value) else value)
  })

  private def computed(column: Expression): Expression =
    column.transform { case a: Attribute => values.getOrElse(a, a) }

  /** The columns of a result. */
  private def results: Seq[NamedExpression] = {
    val keys = aggregation.keyResults.map(key => key.toAttribute -> computed(value(key)))
    val ofKeys = AttributeMap(keys)
    def renamed(column: NamedExpression, value: Expression) =
      Alias(value, column.name)(explicitMetadata = Some(column.metadata))
    keys.map { case (key, value) => renamed(key, value) } ++ Seq(window) ++
      (pane ++ change).map(column => Alias(computed(column), column.name)()) ++
      aggregation.results.map { result =>
        val ofFired = value(result).transform { case a: Attribute => ofKeys.getOrElse(a, a) }
        renamed(result, computed(ofFired))
      }
  }

  private def window: NamedExpression = spec.window match {
    case Global => Alias(Literal(null, OutputLayout.windowType(timeType)), "window")()
    case _ =>
      val bounds = CreateNamedStruct(Seq(Literal("start"), start, Literal("end"), end))
      val known =
        if (isCount) If(IsNull(start), Literal(null, bounds.dataType), bounds) else bounds
      Alias(computed(known), "window")(explicitMetadata = Some(windowMetadata))
  }

  /** The columns under names of their own, which is what lets Spark join a result with itself.
    * What a result makes of its aggregates is computed here, since Spark knows best how: it may
    * call Python, or hold a subquery.
    */
  def named(plan: LogicalPlan): LogicalPlan =
    if (call.isDefined) Project(calls(call.get), plan)
    else if (spec.lateRows == LateRows.No) Project(results, plan)
    else {
      val result = CreateNamedStruct(results.flatMap(r => Seq(Literal(r.name), value(r))))
      Project(if (tagged) eitherOf(result) else resultOf(result), plan)
    }

  private def eitherOf(result: Expression): Seq[NamedExpression] = {
    val isResult = IsNull(late)
    val (results, lateRow) = (Literal(OutputLayout.Results), Literal(OutputLayout.Late))
    Seq(
      Alias(If(isResult, results, lateRow), "tag")(),
      Alias(If(isResult, result, Literal(null, result.dataType)), OutputLayout.Results)(),
      Alias(late, OutputLayout.Late)())
  }

  /** What a function is called with: a call's rows follow each other, the last one is marked.
    * Late rows pass between them.
    */
  private def calls(call: CallColumns): Seq[NamedExpression] = {
    def ofCall(column: NamedExpression, name: String): NamedExpression = {
      val known = computed(value(column))
      val either =
        if (tagged) If(IsNull(this.late), known, Literal(null, known.dataType)) else known
      Alias(either, name)(explicitMetadata = Some(column.metadata))
    }
    val (keys, others) = results.splitAt(aggregation.keyResults.length)
    val (front, values) = others.splitAt(1 + pane.size)
    val late = if (spec.lateRows == LateRows.No) None else Some(lateOrNull)
    keys.zipWithIndex.map { case (key, i) => ofCall(key, s"key_$i") } ++
      (front ++ call.columns(values)).map(column => ofCall(column, column.name)) ++ late
  }

  private def lateOrNull: NamedExpression =
    Alias(if (tagged) late else Literal(null, late.dataType), OutputLayout.Late)()

  /** All rows of a static DataFrame are on time. */
  private def resultOf(result: Expression): Seq[NamedExpression] =
    Seq(
      Alias(Literal(OutputLayout.Results), "tag")(),
      Alias(result, OutputLayout.Results)(),
      lateOrNull)

  private def value(column: NamedExpression): Expression = column match {
    case Alias(child, _) => child
    case other => other
  }

  val stage: WindowStage = WindowStage(
    spec = stageSpec,
    settings = spec,
    lateRows = if (df.isStreaming) spec.lateRows else LateRows.No,
    time = aggregation.time,
    keys = aggregation.groups,
    inputs = aggregation.inputs,
    row = row,
    contents = contents,
    placing = aggregation.placing,
    order = aggregation.order,
    aggregates = aggregation.aggregates,
    fired = yielded.map(_.dataType))

  /** What marks the column as a window for Spark's functions, and as carrying the watermark. */
  private def windowMetadata: Metadata = {
    val metadata = new MetadataBuilder().putBoolean(
      if (Windows.areSessions(spec.window)) SessionWindow.marker else TimeWindow.marker,
      true)
    val delay = EventTimeWatermark.delayKey
    df.queryExecution.analyzed.output.find(_.metadata.contains(delay)).foreach { column =>
      metadata.putLong(delay, column.metadata.getLong(delay))
    }
    metadata.build()
  }
}

object OutputLayout {
  private val Results = "results"
  private val Late = "late"

  def windowType(time: DataType): StructType =
    StructType(Seq(StructField("start", time), StructField("end", time)))
}
