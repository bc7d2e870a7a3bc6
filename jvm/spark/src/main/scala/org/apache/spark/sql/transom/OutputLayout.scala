package org.apache.spark.sql.transom

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions._
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

  /** What a window yields when it fires. */
  private val fired = (aggregation.keyResults :+ window) ++ aggregation.functionResults

  /** The columns of a result, in terms of `fired`. */
  private val plain =
    aggregation.keyResults.map(_.toAttribute) ++ (window.toAttribute +: aggregation.results)

  private val columns: Seq[NamedExpression] =
    if (!tagged) fired
    else
      Seq(
        Alias(Literal(OutputRows.ResultsTag), "tag")(),
        Alias(struct(fired), OutputRows.ResultsTag)(),
        Alias(Literal(null, OutputRows.lateType(df.schema, timeType)), OutputRows.LateTag)())

  private def struct(fields: Seq[NamedExpression]): Expression =
    CreateNamedStruct(
      fields.flatMap(field => Seq(Literal(field.name), OutputLayout.value(field))))

  private val countsColumn = Alias(Literal(null, RowCounts.schema), OutputLayout.CountsName)()

  /** Null in all rows but those of counts. */
  val counts: Attribute = countsColumn.toAttribute

  /** What our nodes yield. Rows of counts and of other tags have nulls in every column. */
  val unnamed: Seq[Attribute] =
    columns.map(_.toAttribute.newInstance().withNullability(true)) ++
      (if (df.isStreaming) Seq(counts) else Nil)

  /** The columns under names of their own, which is what lets Spark join a result with itself,
    * and as nullable as the windows make them. What a result makes of its aggregates is computed
    * here, since Spark knows best how: it may call Python, or hold a subquery.
    */
  def named(results: LogicalPlan): LogicalPlan =
    Project(if (tagged) untagged(unnamed.take(3)) else renamed(unnamed), results)

  private def renamed(from: Seq[Expression]): Seq[NamedExpression] = {
    val values = AttributeMap(fired.zip(from).map { case (column, value) =>
      column.toAttribute -> (if (column.nullable) value else KnownNotNull(value))
    })
    plain.map { column =>
      val value = OutputLayout.value(column).transform { case a: Attribute =>
        values.getOrElse(a, a)
      }
      Alias(value, column.name)(explicitMetadata = Some(column.metadata))
    }
  }

  private def untagged(from: Seq[Attribute]): Seq[NamedExpression] = {
    val Seq(tag, results, late) = from: @unchecked
    val value = struct(renamed(fired.indices.map(GetStructField(results, _))))
    Seq(
      Alias(tag, "tag")(),
      Alias(If(IsNull(results), Literal(null, value.dataType), value), OutputRows.ResultsTag)(),
      Alias(late, OutputRows.LateTag)())
  }

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

  private def value(column: NamedExpression): Expression = column match {
    case Alias(child, _) => child
    case other => other
  }
}
