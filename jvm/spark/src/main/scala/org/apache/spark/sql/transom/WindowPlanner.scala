package org.apache.spark.sql.transom

import java.util.UUID

import org.apache.spark.sql.{Column, DataFrame, Encoders, Row}
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference, CreateNamedStruct, IsNull, KnownNotNull, Literal, NamedExpression, SessionWindow, TimeWindow}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.functions.{coalesce, col, lit, sum}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types._

import transom.engine.spec.{AggFunction, EventTime, Global, LateRows, Session, WindowSpec}

/** Builds the plan of a window stage from its spec and the columns that came with it. */
object WindowPlanner {
  private val CountsName = "__transom_counts"

  def plan(input: Dataset[Row], spec: WindowSpec, columns: Seq[Column]): DataFrame = {
    val session = input.sparkSession
    register(session)
    val stageSpec = StageSpec.of(input, spec, columns)
    val df = if (spec.drain && input.isStreaming) Drain.below(input, stageSpec.name) else input
    val AggFunction(aggregateColumns) = spec.function: @unchecked
    val time = spec.time.fold(lit(0L).cast(TimestampType)) { case EventTime(column, _) => columns(column) }
    val aggregation =
      Aggregation.resolve(df, spec.keyColumns.map(columns), time, aggregateColumns.map(columns))
    val layout = new OutputLayout(df, stageSpec, spec, aggregation)
    val operator = UUID.randomUUID().toString
    val needed = Seq(aggregation.time) ++ aggregation.groups ++ aggregation.inputs ++ layout.row
    val segments = PaneSegments(
      layout.stage,
      needed,
      operator,
      Exchanged.attributes,
      Project(needed.distinct, aggregation.plan))
    if (df.isStreaming) streaming(session, layout, segments) else static(session, layout, segments)
  }

  private def streaming(session: SparkSession, layout: OutputLayout, segments: PaneSegments): DataFrame = {
    val group = segments.output.head
    val operator = new TransformWithState(
      keyDeserializer = group,
      valueDeserializer = RowObject(),
      groupingAttributes = Seq(group),
      dataAttributes = segments.output,
      statefulProcessor =
        new WindowProcessor(layout.stage).asInstanceOf[StatefulProcessor[Any, Any, Any]],
      timeMode = TimeMode.EventTime(),
      outputMode = OutputMode.Append(),
      keyEncoder = encoderFor(Encoders.scalaInt).asInstanceOf[ExpressionEncoder[Any]],
      outputObjAttr = AttributeReference("row", RowObject.dataType, nullable = false)(),
      child = segments,
      hasInitialState = false,
      initialStateGroupingAttrs = Seq(group),
      initialStateDataAttrs = segments.output,
      initialStateDeserializer = RowObject(),
      initialState = LocalRelation(segments.output.map(_.newInstance())))
    val unwrapped = Dataset.ofRows(session, Unwrap(layout.streamingOutput, operator))
    val counts = RowCounts.names.map(n => coalesce(sum(col(s"$CountsName.$n")), lit(0L)).as(s"transom_$n"))
    val observed = unwrapped.observe(layout.stage.name, counts.head, counts.tail: _*)
    val isResult = IsNull(layout.counts.toAttribute)
    // Rows of counts have nulls everywhere; behind the filter the columns are what they were.
    val results = layout.streamingOutput.zip(layout.output).map { case (from, to) =>
      Alias(if (to.nullable) from else KnownNotNull(from), to.name)(to.exprId, to.qualifier, Some(to.metadata))
    }
    Dataset.ofRows(session, Project(results, Filter(isResult, observed.queryExecution.analyzed)))
  }

  private def static(session: SparkSession, layout: OutputLayout, segments: PaneSegments): DataFrame = {
    val byGroup = Dataset.ofRows(session, segments).repartition(col("group")).sortWithinPartitions("group")
    Dataset.ofRows(session, FireAll(layout.stage, layout.output, byGroup.queryExecution.analyzed))
  }

  private def register(session: SparkSession): Unit = session.experimental.synchronized {
    if (!session.experimental.extraStrategies.contains(WindowStrategy))
      session.experimental.extraStrategies = WindowStrategy +: session.experimental.extraStrategies
  }

  /** The columns that leave a stage. */
  private final class OutputLayout(
      df: Dataset[Row],
      stageSpec: StageSpec,
      spec: WindowSpec,
      aggregation: Aggregation) {
    private val tagged = spec.lateRows != LateRows.No
    val row: Seq[Attribute] = if (tagged && df.isStreaming) df.queryExecution.analyzed.output else Nil

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
        val results = CreateNamedStruct(plain.flatMap(c => Seq(Literal(c.name), c match {
          case Alias(child, _) => child
          case other => other
        })))
        Seq(
          Alias(Literal(OutputRows.ResultsTag), "tag")(),
          Alias(results, OutputRows.ResultsTag)(),
          Alias(Literal(null, OutputRows.lateType(df.schema, timeType)), OutputRows.LateTag)())
      }

    val counts: Alias = Alias(Literal(null, RowCounts.schema), CountsName)()

    val output: Seq[Attribute] = columns.map { c =>
      val attribute = c.toAttribute
      if (tagged) attribute.withNullability(true) else attribute
    }
    val streamingOutput: Seq[Attribute] =
      output.map(_.newInstance().withNullability(true)) :+ counts.toAttribute

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
      outputColumns = if (df.isStreaming) columns :+ counts else columns)

    /** What marks the column as a window for Spark's functions, and as carrying the watermark. */
    private def windowMetadata: Metadata = {
      val metadata = new MetadataBuilder().putBoolean(
        if (spec.window.isInstanceOf[Session]) SessionWindow.marker else TimeWindow.marker, true)
      val delay = EventTimeWatermark.delayKey
      df.queryExecution.analyzed.output.find(_.metadata.contains(delay)).foreach { column =>
        metadata.putLong(delay, column.metadata.getLong(delay))
      }
      metadata.build()
    }
  }
}
