package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.transom.aggregate.{FinalAggregation, KeyedAggregation, KeyedConditions}
import org.apache.spark.sql.transom.planned.{KeyedLayout, SliceLayout, WindowOperatorPlan}

import transom.engine.keyed._
import transom.engine.keyed.keystate.{Contents, KeyStore, PerKeyState}
import transom.engine.keyed.several.SeveralOperators
import transom.engine.runtime._
import transom.engine.session.SessionTaskOperator
import transom.engine.slice.SliceTaskOperator
import transom.engine.spec.WindowSpec
import transom.engine.state.{Limits, SegmentStore}
import transom.engine.sweep.SweepOperators
import transom.engine.window.{GridSlices, SessionSlices, Windows}

/** Chooses the classes that run the windows of a plan.
  *
  * {{{
  * state       windows                              class
  * slice log   on grids                             SliceTaskOperator
  * slice log   sessions                             SessionTaskOperator
  * keyed       over lifetimes, between starts       KeyedTaskOperator over SweepOperators
  * keyed       several in one pass                  KeyedTaskOperator over SeveralOperators
  * keyed       all others                           KeyedTaskOperator over WindowOperators
  * }}}
  *
  * `SeveralOperators` chooses for each of its windows between the other two.
  */
private[task] object Operators {

  /** The task for a plan. */
  def taskOf(operatorPlan: WindowOperatorPlan): KeyGroupTask = operatorPlan.layout match {
    case SliceLayout => new LogTask(operatorPlan)
    case KeyedLayout if operatorPlan.substreams.isDefined => new SubstreamTask(operatorPlan)
    case KeyedLayout => new KeyedTask(operatorPlan)
  }

  /** The operator of windows whose state is a log. */
  def overLogs(
      operatorPlan: WindowOperatorPlan,
      limits: Limits): TaskOperator[IndexedSeq[SegmentStore], InternalRow] = {
    import operatorPlan.settings
    val merger = new FinalAggregation(operatorPlan)
    val sideOutputs = new SideOutputRows(operatorPlan)
    operatorPlan.slices match {
      case grid: GridSlices =>
        new SliceTaskOperator(settings, grid, merger, sideOutputs, limits)
      case sessions: SessionSlices =>
        new SessionTaskOperator(settings, sessions, merger, sideOutputs, limits)
    }
  }

  /** The operator of windows whose state has an entry per key.
    *
    * @param clocksOf
    *   opens the clocks of a key group at a wall-clock time, in microseconds since 1970
    */
  def overKeys[S <: KeyStore](
      operatorPlan: WindowOperatorPlan,
      limits: Limits,
      clocksOf: (S, Long) => KeyClocks): TaskOperator[S, InternalRow] = {
    import operatorPlan.settings
    val aggregation = new KeyedAggregation(operatorPlan)
    val codec = new RecordCodec(operatorPlan)
    val rows = new StoredRows(codec, operatorPlan.convention)
    val emissions = new Emissions[InternalRow]
    val results = new KeyedResults(operatorPlan, aggregation, emissions)
    def operatorOf[K <: PerKeyState](operators: PerKeyOperators[UnsafeRow, K]) =
      new KeyedTaskOperator(
        settings,
        operators,
        rows,
        results,
        emissions,
        new SideOutputRows(operatorPlan),
        limits,
        clocksOf)
    def conditions = new KeyedConditions(operatorPlan, aggregation)
    def operatorsOf(
        spec: WindowSpec,
        rows: Contents[UnsafeRow],
        results: Results[UnsafeRow, InternalRow]): PerKeyOperators[UnsafeRow, _ <: PerKeyState] =
      if (spec.isSwept) new SweepOperators(spec, aggregation, codec, rows, results)
      else {
        val plan = KeyedPlan.of(spec, aggregation, rows, conditions)
        new WindowOperators(spec, plan, rows, results)
      }
    settings.window match {
      case windows: Windows =>
        operatorOf(new SeveralOperators(settings, windows, rows, codec, results)(operatorsOf))
      case _ => operatorOf(operatorsOf(settings, rows, results))
    }
  }
}
