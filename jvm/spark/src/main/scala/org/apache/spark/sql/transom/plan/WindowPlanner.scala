package org.apache.spark.sql.transom.plan

import java.util.UUID

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry.FunctionBuilder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.transom.clock.{ClockSource, Drain}
import org.apache.spark.sql.transom.exchange.ExchangeFormat
import org.apache.spark.sql.transom.exec._
import org.apache.spark.sql.transom.function.{PythonPartials, AccumulatorId, Reduce, Top}
import org.apache.spark.sql.transom.planned.{KeyedLayout, Layouts, Placement, SliceLayout, StateLayout, TaskLimits}
import org.apache.spark.sql.transom.task.WindowTasks
import org.apache.spark.sql.types._

import transom.engine.spec.{TimePolicy, WindowSpec}
import transom.engine.window.{SessionSlices, SliceAssigner}

/** Builds the plan of a window operator from its spec and the columns that the spec refers to. */
object WindowPlanner {

  /** The functions that the Python package calls by name. */
  private val functions: Seq[(String, FunctionBuilder)] =
    Seq(
      Reduce.Name -> Reduce.of,
      PythonPartials.Name -> PythonPartials.of,
      AccumulatorId.Name -> AccumulatorId.of,
      Top.Name -> Top.of)

  def plan(df: Dataset[Row], message: WindowSpec, ofMessage: Seq[Column]): Dataset[Row] = {
    val session = df.sparkSession
    prepare(session)
    val watermarkSource = InputWatermark.sourceOf(df, message.time, ofMessage)
    val (input, columns) =
      if (watermarkSource.isDefined) (df, ofMessage)
      else InputWatermark.of(df, message.time, ofMessage)
    val analyzed = AnalyzedColumns.of(input, message, columns)
    val spec =
      if (Aggregation.timeType(analyzed.time.dataType) != TimestampNTZType) message
      else message.copy(window = message.window.inUtc)
    val choice = Layouts.choose(spec, analyzed.functions)
    val operatorSpec =
      OperatorSpecBuilder.of(input.queryExecution.analyzed, message, choice.layout, analyzed)
    def drained(rows: LogicalPlan): LogicalPlan =
      if (!spec.drain || !input.isStreaming) rows
      else if (watermarkSource.isEmpty) Drain.below(session, rows, operatorSpec)
      else
        // The end of the input must reach the first operator too.
        rows.transformUp {
          case stage: TimeStageMapSide if OperatorNode.allIn(stage.child).isEmpty =>
            stage.copy(child = Drain.below(session, stage.child, operatorSpec))
        }
    val aggregate = analyzed.aggregate(drained)
    val aggregation = Aggregation.of(
      analyzed,
      if (spec.takesChanges) PythonPartials.inChanges(aggregate) else aggregate,
      orderOf(spec, choice.layout, analyzed),
      if (analyzed.policy.isDefined) None else sliceOf(spec, choice.layout, input.isStreaming))
    val substreams = SubstreamPlanner.of(spec, analyzed)
    val output =
      new OperatorOutput(
        input,
        operatorSpec,
        spec,
        choice,
        aggregation,
        substreams,
        watermarkSource)
    val operatorId = UUID.randomUUID().toString
    val needed =
      Seq(aggregation.time) ++ aggregation.groups ++ aggregation.inputs ++ output.callColumns ++
        output.row ++ aggregation.placement.map(_.column)
    def mapSideOf(columns: Seq[Attribute], rows: LogicalPlan): WindowMapSide =
      WindowMapSide(
        output.operatorPlan,
        columns,
        operatorId,
        ExchangeFormat.attributes(output.operatorPlan.order),
        rows)
    val mapSide = (spec.time, analyzed.policy) match {
      case (Some(policy: TimePolicy), Some(sources)) if substreams.isEmpty =>
        val stage = TimeStagePlanner.plan(
          policy,
          spec.keyGroups,
          operatorSpec,
          operatorId,
          aggregation.plan,
          aggregation.time,
          sources,
          carried = needed,
          // The keyed layout needs all rows in one order.
          mayHoldRows = input.isStreaming && choice.layout == SliceLayout,
          keyFailed = aggregation.keyFailed,
          end = aggregation.placement.collect { case Placement.End(column) => column },
          windows = Some(spec))
        mapSideOf(
          needed.map(stage.byColumn) ++ stage.judgement.all,
          stage.rows(session, input.isStreaming))
      case _ =>
        val computed = substreams.map(_.arrival)
        val columns = needed ++ computed.map(_.toAttribute) ++
          substreams.flatMap(_.columns.punctuation) ++ aggregation.keyFailed ++
          output.operatorPlan.order
        val below = columns.distinct.filterNot(computed.map(_.toAttribute).contains)
        val read = Project(below ++ computed, aggregation.plan)
        val order = output.operatorPlan.order
        mapSideOf(columns, RepeatableOrder.of(order, aggregation.time, read))
    }
    val rows =
      if (input.isStreaming) streaming(session, output, mapSide) else static(output, mapSide)
    Dataset.ofRows(session, output.named(rows))
  }

  /** The columns that order the rows of a batch. */
  private def orderOf(
      spec: WindowSpec,
      layout: StateLayout,
      analyzed: AnalyzedColumns): Seq[Attribute] =
    // The slice log merges rows in any order, and a time stage emits them in their order.
    if (layout != KeyedLayout || analyzed.policy.isDefined) Nil
    // The time of an end is behind the time of its start.
    else if (spec.hasEdges) analyzed.order :+ analyzed.time
    else analyzed.order

  /** Maps a row's time to its slice, if rows of one key and slice share their windows and are
    * late together.
    *
    * None in the keyed layout, and behind a time stage, which may move rows. Also none for
    * sessions of a stream, because each row of a session may be late on its own.
    */
  private def sliceOf(
      spec: WindowSpec,
      layout: StateLayout,
      isStreaming: Boolean): Option[Expression => Expression] =
    if (layout == KeyedLayout) None
    else
      spec.window.sliceAssigner match {
        case _: SessionSlices if isStreaming => None
        case slices =>
          val assigner = Literal(slices, ObjectType(classOf[SliceAssigner]))
          val shift = Literal(spec.window.convention.timeShift)
          Some(time => Invoke(assigner, "sliceOf", LongType, Seq(Subtract(time, shift))))
      }

  private def streaming(
      session: SparkSession,
      output: OperatorOutput,
      mapSide: WindowMapSide): LogicalPlan = {
    import output.operatorPlan
    // A log does not depend on the order in which rows arrive.
    val (order, rows) = operatorPlan.layout match {
      case SliceLayout => (ExchangeFormat.byGroup(mapSide.output), mapSide)
      case KeyedLayout =>
        (ExchangeFormat.inOrder(mapSide.output), withTicks(session, output, mapSide))
    }
    OperatorPlans.streaming(
      session,
      WindowTasks(operatorPlan),
      order,
      rows,
      output.output,
      mapSide.operatorId,
      observedAs = Some(operatorPlan.name))
  }

  /** Adds the ticks of the clock source to the input, if the operator uses the wall clock. */
  private def withTicks(
      session: SparkSession,
      output: OperatorOutput,
      mapSide: WindowMapSide): LogicalPlan = {
    import output.operatorPlan
    if (!operatorPlan.spec.takesTicks) mapSide
    else {
      val clock =
        ClockSource.ticking(session, operatorPlan.operatorSpec, operatorPlan.spec.tickUs)
      val columns = mapSide.output.map(_.newInstance())
      Union(mapSide, KeyGroupTicks(operatorPlan.order, operatorPlan.keyGroups, columns, clock))
    }
  }

  private def static(output: OperatorOutput, mapSide: WindowMapSide): LogicalPlan =
    OperatorPlans.static(
      WindowTasks(output.operatorPlan),
      ExchangeFormat.inOrder(mapSide.output),
      mapSide,
      output.output)

  /** Makes the session plan transom's nodes, and checks its settings. */
  private[plan] def prepare(session: SparkSession): Unit = {
    register(session)
    session.withActive(TaskLimits.check())
  }

  /** Makes the session plan transom's nodes, and know the functions of the Python package. */
  def register(session: SparkSession): Unit = session.experimental.synchronized {
    if (!session.experimental.extraStrategies.contains(WindowStrategy)) {
      session.experimental.extraStrategies =
        WindowStrategy +: session.experimental.extraStrategies
      // Columns can call functions of the internal registry. SQL cannot, and lists of functions
      // do not show them.
      val registry = FunctionRegistry.internal
      functions.foreach { case (name, builder) =>
        // All sessions share this registry, and it logs a warning when a function is replaced.
        if (!registry.lookupFunctionBuilder(FunctionIdentifier(name)).contains(builder))
          registry.createOrReplaceTempFunction(name, builder, "built-in")
      }
    }
  }
}
