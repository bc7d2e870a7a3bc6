package org.apache.spark.sql.transom.plan

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
import org.apache.spark.sql.transom.clock.{ClockSource, Drain}
import org.apache.spark.sql.transom.exchange.ExchangeFormat
import org.apache.spark.sql.transom.exec._
import org.apache.spark.sql.transom.function.{Parts, Place, Reduce}
import org.apache.spark.sql.transom.operator.{KeyedLayout, Layouts, SliceLayout, StateLayout, TaskLimits}
import org.apache.spark.sql.transom.task.{KeyGroupOutput, WindowProcessor}
import org.apache.spark.sql.types._

import transom.engine.operator.{RowCounts, SessionSlices, SliceAssigner}
import transom.engine.spec.WindowSpec
import transom.engine.window.TimeConvention

/** Builds the plan of a window operator from its spec and the columns that the spec refers to.
  */
object WindowPlanner {
  private val Counts = "counts"

  /** The functions that the Python package calls by name. */
  private val functions: Seq[(String, FunctionBuilder)] =
    Seq(Reduce.Name -> Reduce.of, Parts.Name -> Parts.of, Place.Name -> Place.of)

  def plan(input: Dataset[Row], spec: WindowSpec, columns: Seq[Column]): DataFrame = {
    val session = input.sparkSession
    register(session)
    session.withActive(TaskLimits.check())
    val analyzed = AnalyzedColumns.of(input, spec, columns)
    val choice = Layouts.choose(spec, analyzed.functions)
    val operatorSpec =
      OperatorSpecBuilder.of(input.queryExecution.analyzed, spec, choice.layout, analyzed)
    def drained(rows: LogicalPlan): LogicalPlan =
      if (spec.drain && input.isStreaming)
        Drain.below(Dataset.ofRows(session, rows), operatorSpec).queryExecution.analyzed
      else rows
    val aggregation = Aggregation.of(
      analyzed,
      analyzed.aggregate(drained),
      // The slice log merges rows in any order.
      if (choice.layout == KeyedLayout) analyzed.order else Nil,
      sliceOf(spec, choice.layout, input.isStreaming))
    val layout = new OutputLayout(input, operatorSpec, spec, choice, aggregation)
    val operatorId = UUID.randomUUID().toString
    val needed =
      Seq(aggregation.time) ++ aggregation.groups ++ aggregation.inputs ++ layout.contents ++
        layout.row ++ aggregation.windowColumn ++ aggregation.order
    val mapSide = WindowMapSide(
      layout.operatorPlan,
      needed,
      operatorId,
      ExchangeFormat.attributes(aggregation.order),
      Project(needed.distinct, aggregation.plan))
    if (input.isStreaming) streaming(session, layout, mapSide)
    else static(session, layout, mapSide)
  }

  /** Maps a row's time to its slice, if rows of one key and slice share their windows and are
    * late together.
    *
    * None in the keyed layout. None for sessions of a stream too, because rows of a session are
    * late one by one.
    */
  private def sliceOf(
      spec: WindowSpec,
      layout: StateLayout,
      isStreaming: Boolean): Option[Expression => Expression] =
    if (layout == KeyedLayout) None
    else
      SliceAssigner.of(spec.window) match {
        case _: SessionSlices if isStreaming => None
        case slices =>
          val assigner = Literal(slices, ObjectType(classOf[SliceAssigner]))
          val shift = Literal(TimeConvention.of(spec.window).timeShift)
          Some(time => Invoke(assigner, "sliceOf", LongType, Seq(Subtract(time, shift))))
      }

  private def streaming(
      session: SparkSession,
      layout: OutputLayout,
      mapSide: WindowMapSide): DataFrame = {
    val group = mapSide.output.head
    // A log does not depend on the order in which rows arrive.
    val (order, rows) = layout.operatorPlan.layout match {
      case SliceLayout => (ExchangeFormat.byGroup(mapSide.output), mapSide)
      case KeyedLayout =>
        (ExchangeFormat.inOrder(mapSide.output), withTicks(session, layout, mapSide))
    }
    val processor = new WindowProcessor(layout.operatorPlan)
    val operator = new TransformWithState(
      keyDeserializer = group,
      valueDeserializer = RowObject(),
      groupingAttributes = Seq(group),
      dataAttributes = mapSide.output,
      statefulProcessor = processor.asInstanceOf[StatefulProcessor[Any, Any, Any]],
      timeMode = TimeMode.EventTime(),
      outputMode = OutputMode.Append(),
      keyEncoder = encoderFor(Encoders.scalaInt).asInstanceOf[ExpressionEncoder[Any]],
      outputObjAttr = AttributeReference("row", RowObject.dataType, nullable = false)(),
      child = ByKeyGroup(order, rows),
      hasInitialState = false,
      initialStateGroupingAttrs = Seq(group),
      initialStateDataAttrs = mapSide.output,
      initialStateDeserializer = RowObject(),
      initialState = LocalRelation(mapSide.output.map(_.newInstance())))
    val counts = AttributeReference(Counts, KeyGroupOutput.countsType)()
    val outputs = Dataset.ofRows(session, KeyGroupOutputs(Seq(counts), operator))
    val metrics =
      RowCounts.names.map(n => coalesce(sum(col(s"${Counts}.$n")), lit(0L)).as(s"transom_$n"))
    val observed = outputs.observe(layout.operatorPlan.name, metrics.head, metrics.tail: _*)
    val outputRows = OutputRows(layout.output, observed.queryExecution.analyzed)
    Dataset.ofRows(session, layout.named(outputRows))
  }

  /** Adds the ticks of the clock source to the input, if the operator uses processing time. */
  private def withTicks(
      session: SparkSession,
      layout: OutputLayout,
      mapSide: WindowMapSide): LogicalPlan = {
    import layout.operatorPlan
    if (!operatorPlan.settings.needsClock) mapSide
    else {
      val clock = ClockSource.ticking(session, operatorPlan.spec, operatorPlan.settings.tickUs)
      Union(mapSide, KeyGroupTicks(operatorPlan, mapSide.output.map(_.newInstance()), clock))
    }
  }

  private def static(
      session: SparkSession,
      layout: OutputLayout,
      mapSide: WindowMapSide): DataFrame = {
    val order = ExchangeFormat.inOrder(mapSide.output)
    val byGroup =
      RepartitionByExpression(Seq(mapSide.output.head), mapSide, optNumPartitions = None)
    val sorted = Sort(order, global = false, byGroup)
    Dataset.ofRows(
      session,
      layout.named(StaticWindowOperator(layout.operatorPlan, layout.output, sorted)))
  }

  private def register(session: SparkSession): Unit = session.experimental.synchronized {
    if (!session.experimental.extraStrategies.contains(WindowStrategy)) {
      session.experimental.extraStrategies =
        WindowStrategy +: session.experimental.extraStrategies
      // Columns find functions in the internal registry. SQL does not, and no list of functions
      // shows them.
      val registry = FunctionRegistry.internal
      functions.foreach { case (name, builder) =>
        // All sessions share this registry, and it logs a warning when a function is replaced.
        if (!registry.lookupFunctionBuilder(FunctionIdentifier(name)).contains(builder))
          registry.createOrReplaceTempFunction(name, builder, "built-in")
      }
    }
  }
}
