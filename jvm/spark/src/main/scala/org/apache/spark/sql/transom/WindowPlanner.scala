package org.apache.spark.sql.transom

import java.util.UUID

import org.apache.spark.sql.{Column, DataFrame, Encoders, Row}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry.FunctionBuilder
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.functions.{coalesce, col, lit, sum}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types._

import transom.engine.spec.{Custom, DynamicSession, EventTime, WindowSpec}

/** Builds the plan of a window stage from its spec and the columns that came with it. */
object WindowPlanner {
  private val Counts = "counts"

  /** What the Python package calls by name. */
  private val functions: Seq[(String, FunctionBuilder)] =
    Seq(Reduce.Name -> Reduce.of, Parts.Name -> Parts.of, Place.Name -> Place.of)

  def plan(input: Dataset[Row], spec: WindowSpec, columns: Seq[Column]): DataFrame = {
    val session = input.sparkSession
    register(session)
    val aggregates = spec.function.aggregateColumns.map(columns)
    val choice =
      Layouts.choose(
        spec,
        Aggregation.functionsOf(input, spec.keyColumns.map(columns), aggregates))
    val stageSpec = StageSpec.of(input, spec, choice.layout, columns)
    val df = if (spec.drain && input.isStreaming) Drain.below(input, stageSpec) else input
    val time = spec.time match {
      case Some(EventTime(column, _)) => columns(column)
      case _ => lit(0L).cast(TimestampType)
    }
    val placing = spec.window match {
      case DynamicSession(column, _, _) => Some(columns(column))
      case Custom(column, _) => Some(columns(column))
      case _ => None
    }
    // The slice log takes rows in any order.
    val order = if (choice.layout == KeyedLayout) spec.orderColumns.map(columns) else Nil
    val aggregation = Aggregation.resolve(
      df,
      spec.keyColumns.map(columns),
      time,
      placing,
      order,
      aggregates,
      Asked.of(df, spec, columns),
      sliceOf(spec, choice.layout, df.isStreaming))
    val layout = new OutputLayout(df, stageSpec, spec, choice, aggregation)
    val operator = UUID.randomUUID().toString
    val needed =
      Seq(aggregation.time) ++ aggregation.groups ++ aggregation.inputs ++ layout.contents ++
        layout.row ++ aggregation.placing ++ aggregation.order
    val packed = PackedStage(
      layout.stage,
      needed,
      operator,
      Exchanged.attributes(aggregation.order),
      Project(needed.distinct, aggregation.plan))
    if (df.isStreaming) streaming(session, layout, packed)
    else static(session, layout, packed)
  }

  /** The slice of a time, if rows of one key and slice are in the same windows and late together.
    * Rows of a session are late one by one.
    */
  private def sliceOf(
      spec: WindowSpec,
      layout: StageLayout,
      isStreaming: Boolean): Option[Expression => Expression] =
    if (layout == KeyedLayout || isStreaming && Windows.areSessions(spec.window)) None
    else {
      val windows = Literal(Windows.of(spec.window), ObjectType(classOf[Windows]))
      val shift = Literal(Windows.timeShift(spec.window))
      Some(time => Invoke(windows, "sliceOf", LongType, Seq(Subtract(time, shift))))
    }

  private def streaming(
      session: SparkSession,
      layout: OutputLayout,
      packed: PackedStage): DataFrame = {
    val group = packed.output.head
    val (processor, order, rows) = layout.stage.layout match {
      case SliceLayout =>
        (new WindowProcessor(layout.stage), Exchanged.byGroup(packed.output), packed)
      case KeyedLayout =>
        (
          new KeyedProcessor(layout.stage),
          Exchanged.inOrder(packed.output),
          ticking(session, layout, packed))
    }
    val operator = new TransformWithState(
      keyDeserializer = group,
      valueDeserializer = RowObject(),
      groupingAttributes = Seq(group),
      dataAttributes = packed.output,
      statefulProcessor = processor.asInstanceOf[StatefulProcessor[Any, Any, Any]],
      timeMode = TimeMode.EventTime(),
      outputMode = OutputMode.Append(),
      keyEncoder = encoderFor(Encoders.scalaInt).asInstanceOf[ExpressionEncoder[Any]],
      outputObjAttr = AttributeReference("row", RowObject.dataType, nullable = false)(),
      child = ByKeyGroup(order, rows),
      hasInitialState = false,
      initialStateGroupingAttrs = Seq(group),
      initialStateDataAttrs = packed.output,
      initialStateDeserializer = RowObject(),
      initialState = LocalRelation(packed.output.map(_.newInstance())))
    val counts = AttributeReference(Counts, RowCounts.schema)()
    val visits = Dataset.ofRows(session, Visits(Seq(counts), operator))
    val metrics =
      RowCounts.names.map(n => coalesce(sum(col(s"${Counts}.$n")), lit(0L)).as(s"transom_$n"))
    val observed = visits.observe(layout.stage.name, metrics.head, metrics.tail: _*)
    val visited = VisitedRows(layout.yielded, observed.queryExecution.analyzed)
    Dataset.ofRows(session, layout.named(visited))
  }

  /** With the ticks of the clock, if anything goes by it. */
  private def ticking(
      session: SparkSession,
      layout: OutputLayout,
      packed: PackedStage): LogicalPlan = {
    import layout.stage
    if (!stage.settings.needsClock) packed
    else {
      val clock = ClockSource.ticking(session, stage.spec, stage.settings.tickUs)
      Union(packed, PackedTicks(stage, packed.output.map(_.newInstance()), clock))
    }
  }

  private def static(
      session: SparkSession,
      layout: OutputLayout,
      packed: PackedStage): DataFrame = {
    val order = Exchanged.inOrder(packed.output)
    val byGroup =
      RepartitionByExpression(Seq(packed.output.head), packed, optNumPartitions = None)
    val sorted = Sort(order, global = false, byGroup)
    Dataset.ofRows(session, layout.named(FireAll(layout.stage, layout.yielded, sorted)))
  }

  private def register(session: SparkSession): Unit = session.experimental.synchronized {
    if (!session.experimental.extraStrategies.contains(WindowStrategy)) {
      session.experimental.extraStrategies =
        WindowStrategy +: session.experimental.extraStrategies
      // Columns find them there; SQL does not, and no list of functions shows them.
      val registry = FunctionRegistry.internal
      functions.foreach { case (name, builder) =>
        // It is one for all sessions, and warns of what is replaced.
        if (!registry.lookupFunctionBuilder(FunctionIdentifier(name)).contains(builder))
          registry.createOrReplaceTempFunction(name, builder, "built-in")
      }
    }
  }
}
