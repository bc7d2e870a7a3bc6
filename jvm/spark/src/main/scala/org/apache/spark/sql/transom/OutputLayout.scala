package org.apache.spark.sql.transom

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan, Project}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.types._

import transom.engine.spec.{Count, Global, LateRows, ProcessingTime, WindowSpec}

/** The columns of an operator, as its tasks yield them and as they leave it. */
final class OutputLayout(
    df: Dataset[Row],
    operatorSpec: OperatorSpec,
    spec: WindowSpec,
    choice: LayoutChoice,
    aggregation: Aggregation) {
  private val timeType = aggregation.timeType
  private def attributeOf(tag: String) =
    AttributeReference(tag, SideOutputRows.schema(df.schema, timeType))()
  private val late = if (spec.lateRows == LateRows.No) Nil else Seq(attributeOf("late"))
  private val dead = if (spec.deadLetters) Seq(attributeOf("dead_letters")) else Nil

  /** The columns beside results that are asked for, by tag. */
  private val sideOutputs = late ++ dead

  /** Those that hold something: all rows of a static DataFrame are on time. */
  private val filledSideOutputs = (if (df.isStreaming) late else Nil) ++ dead
  val row: Seq[Attribute] =
    if (filledSideOutputs.isEmpty) Nil else df.queryExecution.analyzed.output

  /** The columns of the rows that windows hand out. */
  val contents: Seq[Attribute] =
    if (spec.function.takesRows)
      df.queryExecution.analyzed.output.filterNot(OperatorSpec.isHidden)
    else Nil
  private val call =
    if (spec.function.isCalled)
      Some(new CallColumns(contents, spec.function.takesRows, spec.function.keepsByWindow))
    else None

  // The times of a count window's rows, which may have none.
  private val isCount = spec.window.isInstanceOf[Count]
  private val start = AttributeReference("start", timeType, nullable = isCount)()
  private val end = AttributeReference("end", timeType, nullable = isCount)()
  private val pane =
    if (spec.pane) Some(AttributeReference("pane", KeyedResults.paneType, nullable = false)())
    else None
  private val change =
    if (spec.retract) Some(AttributeReference("change", StringType, nullable = false)()) else None

  /** What a window yields when it fires. */
  private val resultColumns =
    aggregation.groups ++ Seq(start, end) ++ aggregation.aggregates.map(_.resultAttribute) ++
      pane ++ change ++ call.toSeq.flatMap(_.attributes)

  /** What tasks yield: windows or, if refused rows are handed on, either a window or such a row.
    * A row that tells the end of a window has no results.
    */
  val output: Seq[Attribute] =
    if (filledSideOutputs.isEmpty && !spec.function.keepsByWindow)
      resultColumns.map(_.newInstance())
    else resultColumns.map(_.newInstance().withNullability(true)) ++ filledSideOutputs

  private val values = AttributeMap(resultColumns.zip(output).map { case (column, value) =>
    column -> (if (value.nullable && !column.nullable) KnownNotNull(value) else value)
  })

  private val nullableValues = AttributeMap(resultColumns.zip(output))

  private def computed(column: Expression): Expression =
    column.transform {
      // Spark calls Python for all rows, whatever stands around the call: for late rows too.
      case udf: PythonUDF =>
        udf.mapChildren(_.transform { case a: Attribute => nullableValues.getOrElse(a, a) })
      case a: Attribute => values.getOrElse(a, a)
    }

  /** The columns of a result. */
  private def results: Seq[NamedExpression] = {
    val keys = aggregation.keyResults.map(key => key.toAttribute -> computed(value(key)))
    val ofKeys = AttributeMap(keys)
    def renamed(column: NamedExpression, value: Expression) =
      Alias(value, column.name)(explicitMetadata = Some(column.metadata))
    keys.map { case (key, value) => renamed(key, value) } ++ Seq(window) ++
      (pane ++ change).map(column => Alias(computed(column), column.name)()) ++
      aggregation.results.map { result =>
        val ofResults = value(result).transform { case a: Attribute => ofKeys.getOrElse(a, a) }
        renamed(result, computed(ofResults))
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
    else if (sideOutputs.isEmpty) Project(results, plan)
    else {
      val result = WithMetadata(
        CreateNamedStruct(results.flatMap(r => Seq(Literal(r.name), value(r)))),
        results.map(_.metadata))
      val tag = filledSideOutputs.foldRight[Expression](Literal(OutputLayout.Results)) {
        (sideOutput, other) =>
          If(IsNull(sideOutput), other, Literal(sideOutput.name))
      }
      val front =
        Seq(Alias(tag, "tag")(), Alias(unlessSideOutput(result), OutputLayout.Results)())
      Project(front ++ sideOutputColumns, plan)
    }

  /** What a function is called with: a call's rows follow each other, the last one is marked.
    * Refused rows pass between them.
    */
  private def calls(call: CallColumns): Seq[NamedExpression] = {
    def ofCall(column: NamedExpression, name: String): NamedExpression =
      Alias(unlessSideOutput(computed(value(column))), name)(explicitMetadata =
        Some(column.metadata))
    val (keys, others) = results.splitAt(aggregation.keyResults.length)
    val (front, values) = others.splitAt(1 + pane.size)
    // A key as it came is known of rows alone, not of a window that has none left.
    val groups = if (spec.function.keepsState) aggregation.groups else Nil
    keys.zipWithIndex.map { case (key, i) => ofCall(key, s"key_$i") } ++
      groups.zipWithIndex.map { case (group, i) => ofCall(group, s"group_$i") } ++
      (front ++ call.columns(values)).map(column =>
        ofCall(column, column.name)) ++ sideOutputColumns
  }

  private def unlessSideOutput(known: Expression): Expression =
    filledSideOutputs.foldRight(known)((sideOutput, known) =>
      If(IsNull(sideOutput), known, Literal(null, known.dataType)))

  private def sideOutputColumns: Seq[NamedExpression] = sideOutputs.map { sideOutput =>
    Alias(
      if (filledSideOutputs.contains(sideOutput)) sideOutput
      else Literal(null, sideOutput.dataType),
      sideOutput.name)()
  }

  private def value(column: NamedExpression): Expression = column match {
    case Alias(child, _) => child
    case other => other
  }

  val operatorPlan: WindowOperatorPlan = WindowOperatorPlan(
    spec = operatorSpec,
    settings = spec,
    choice = choice,
    lateRows = if (df.isStreaming) spec.lateRows else LateRows.No,
    deadLetters = spec.deadLetters,
    time = aggregation.time,
    keys = aggregation.groups,
    inputs = aggregation.inputs,
    row = row,
    contents = contents,
    windowColumn = aggregation.windowColumn,
    order = aggregation.order,
    aggregates = aggregation.aggregates,
    hidden = aggregation.hidden,
    userExpressions = aggregation.userExpressions,
    outputTypes = output.map(_.dataType))

  /** What marks the column as a window for Spark's functions, and as carrying the watermark. */
  private def windowMetadata: Metadata = {
    val metadata = new MetadataBuilder().putBoolean(
      if (Windows.areSessions(spec.window)) SessionWindow.marker else TimeWindow.marker,
      true)
    val delay = EventTimeWatermark.delayKey
    if (!spec.time.contains(ProcessingTime))
      df.queryExecution.analyzed.output.find(_.metadata.contains(delay)).foreach { column =>
        metadata.putLong(delay, column.metadata.getLong(delay))
      }
    metadata.build()
  }
}

/** A struct whose fields have metadata. Spark drops the metadata of columns that become fields,
  * and the window column would no longer carry the watermark.
  *
  * @param metadata
  *   one for each field of `child`
  */
final case class WithMetadata(child: Expression, metadata: Seq[Metadata])
    extends UnaryExpression
    with TaggingExpression {

  override def dataType: StructType = {
    val fields = child.dataType.asInstanceOf[StructType]
    StructType(fields.zip(metadata).map { case (field, added) => field.copy(metadata = added) })
  }

  override protected def withNewChildInternal(newChild: Expression): WithMetadata =
    copy(child = newChild)
}

object OutputLayout {
  private val Results = "results"

  def windowType(time: DataType): StructType =
    StructType(Seq(StructField("start", time), StructField("end", time)))
}
