package org.apache.spark.sql.transom

import java.util.UUID

import org.apache.spark.sql.{Column, DataFrame, Encoders, Row}
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.functions.{coalesce, col, lit, sum}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types._

import transom.engine.spec.{AggFunction, EventTime, WindowSpec}

/** Builds the plan of a window stage from its spec and the columns that came with it. */
object WindowPlanner {
  private val Counts = "counts"

  def plan(input: Dataset[Row], spec: WindowSpec, columns: Seq[Column]): DataFrame = {
    val session = input.sparkSession
    register(session)
    Layouts.check(spec)
    val stageSpec = StageSpec.of(input, spec, columns)
    val df = if (spec.drain && input.isStreaming) Drain.below(input, stageSpec.name) else input
    val AggFunction(aggregateColumns) = spec.function: @unchecked
    val time = spec.time match {
      case Some(EventTime(column, _)) => columns(column)
      case _ => lit(0L).cast(TimestampType)
    }
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
    if (df.isStreaming) streaming(session, layout, segments)
    else static(session, layout, segments)
  }

  private def streaming(
      session: SparkSession,
      layout: OutputLayout,
      segments: PaneSegments): DataFrame = {
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
    val counts = AttributeReference(Counts, RowCounts.schema)()
    val visits = Dataset.ofRows(session, Visits(Seq(counts), operator))
    val metrics =
      RowCounts.names.map(n => coalesce(sum(col(s"${Counts}.$n")), lit(0L)).as(s"transom_$n"))
    val observed = visits.observe(layout.stage.name, metrics.head, metrics.tail: _*)
    val rows = VisitedRows(layout.yielded, observed.queryExecution.analyzed)
    Dataset.ofRows(session, layout.named(rows))
  }

  private def static(
      session: SparkSession,
      layout: OutputLayout,
      segments: PaneSegments): DataFrame = {
    val byGroup =
      Dataset.ofRows(session, segments).repartition(col("group")).sortWithinPartitions("group")
    val fired = FireAll(layout.stage, layout.yielded, byGroup.queryExecution.analyzed)
    Dataset.ofRows(session, layout.named(fired))
  }

  private def register(session: SparkSession): Unit = session.experimental.synchronized {
    if (!session.experimental.extraStrategies.contains(WindowStrategy))
      session.experimental.extraStrategies =
        WindowStrategy +: session.experimental.extraStrategies
  }
}
