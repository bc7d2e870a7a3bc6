package org.apache.spark.sql.transom

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference, CreateNamedStruct, KnownNotNull, Literal, NamedExpression, SessionWindow, TimeWindow}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan, Project}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.types._

import transom.engine.spec.{Global, LateRows, Session, WindowSpec}

/** The columns that leave a stage: those of a fired window or, if late rows are handed on, of
  * tagged rows, and in a stream the counts behind them.
  */
final class OutputLayout(
    df: Dataset[Row],
    stageSpec: StageSpec,
    spec: WindowSpec,
    aggregation: Aggregation) {
  private val tagged = spec.lateRows != LateRows.No
  val row: Seq[Attribute] =
    if (tagged && df.isStreaming) df.queryExecution.analyzed.output else Nil

  private val timeType = aggregation.timeType
  private val start = AttributeReference("start", timeType, nullable = false)()
  private val end = AttributeReference("end", timeType, nullable = false)()

  private val window: NamedExpression = spec.window match {
    case Global => Alias(Literal(null, OutputRows.windowType(timeType)), "window")()
    case _ =>
      val bounds = CreateNamedStruct(Seq(Literal("start"), start, Literal("end"), end))
      Alias(bounds, "window")(explicitMetadata = Some(windowMetadata))
  }

  private val plain = (aggregation.keyResults :+ window) ++ aggregation.results

  private val columns: Seq[NamedExpression] =
    if (!tagged) plain
    else {
      val results = CreateNamedStruct(
        plain.flatMap(c =>
          Seq(
            Literal(c.name),
            c match {
              case Alias(child, _) => child
              case other => other
            })))
      Seq(
        Alias(Literal(OutputRows.ResultsTag), "tag")(),
        Alias(results, OutputRows.ResultsTag)(),
        Alias(Literal(null, OutputRows.lateType(df.schema, timeType)), OutputRows.LateTag)())
    }

  private val countsColumn = Alias(Literal(null, RowCounts.schema), OutputLayout.CountsName)()

  /** Null in all rows but those of counts. */
  val counts: Attribute = countsColumn.toAttribute

  /** What our nodes yield. Rows of counts and of other tags have nulls in every column. */
  val unnamed: Seq[Attribute] =
    columns.map(_.toAttribute.newInstance().withNullability(true)) ++
      (if (df.isStreaming) Seq(counts) else Nil)

  /** The columns under names of their own, which is what lets Spark join a result with itself,
    * and as nullable as the windows make them.
    */
  def named(results: LogicalPlan): LogicalPlan =
    Project(
      columns.zip(unnamed).map { case (column, from) =>
        val whole = if (tagged || column.nullable) from else KnownNotNull(from)
        Alias(whole, column.name)(explicitMetadata = Some(column.metadata))
      },
      results)

  val stage: WindowStage = WindowStage(
    spec = stageSpec,
    windows = Windows.of(spec.window),
    keyGroups = spec.keyGroups,
    lateRows = if (df.isStreaming) spec.lateRows else LateRows.No,
    time = aggregation.time,
    keys = aggregation.groups,
    inputs = aggregation.inputs,
    row = row,
    aggregates = aggregation.aggregates,
    windowStart = start,
    windowEnd = end,
    outputColumns = if (df.isStreaming) columns :+ countsColumn else columns)

  /** What marks the column as a window for Spark's functions, and as carrying the watermark. */
  private def windowMetadata: Metadata = {
    val metadata = new MetadataBuilder().putBoolean(
      if (spec.window.isInstanceOf[Session]) SessionWindow.marker else TimeWindow.marker,
      true)
    val delay = EventTimeWatermark.delayKey
    df.queryExecution.analyzed.output.find(_.metadata.contains(delay)).foreach { column =>
      metadata.putLong(delay, column.metadata.getLong(delay))
    }
    metadata.build()
  }
}

object OutputLayout {
  val CountsName = "__transom_counts"
}
