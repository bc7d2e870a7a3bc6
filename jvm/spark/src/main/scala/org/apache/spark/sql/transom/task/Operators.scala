package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.transom.aggregate.{FinalAggregation, KeyedAggregation, KeyedConditions}
import org.apache.spark.sql.transom.planned.{KeyedLayout, SliceLayout, WindowOperatorPlan}

import transom.engine.judge.KeyJudge
import transom.engine.keyed._
import transom.engine.keyed.keystate.KeyStore
import transom.engine.runtime._
import transom.engine.session.SessionLog
import transom.engine.slice.SliceLogs
import transom.engine.state.{AccumulatorMerger, Limits, SegmentStore}
import transom.engine.window.{GridSlices, SessionSlices}

/** Creates the engine's operators for a plan. The layout of the state chooses the task, and the
  * engine chooses the classes that run the windows, see [[KeyedOperators]].
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
    import operatorPlan.{spec, slices}
    val merger: AccumulatorMerger[InternalRow] = new FinalAggregation(operatorPlan)
    val logOf = slices match {
      case grid: GridSlices => SliceLogs.over(spec, grid.grids, merger, limits)
      case sessions: SessionSlices => SessionLog.over(sessions, merger, limits)
    }
    new LogTaskOperator(spec, slices, merger, new SideOutputRows(operatorPlan), logOf)
  }

  /** The operator of windows whose state has an entry per key.
    *
    * @param judgeOf
    *   opens the judge of a key group at a wall-clock time, in microseconds since 1970
    */
  def overKeys[K <: KeyStore](
      operatorPlan: WindowOperatorPlan,
      limits: Limits,
      judgeOf: (K, Long) => KeyJudge): TaskOperator[K, InternalRow] = {
    import operatorPlan.spec
    val aggregation = new KeyedAggregation(operatorPlan)
    val codec = new RecordCodec(operatorPlan)
    val rows = new EncodedRowStore(codec, operatorPlan.convention)
    val results = new KeyedResults(operatorPlan, aggregation)
    def conditions = new KeyedConditions(operatorPlan, aggregation)
    new KeyedTaskOperator(
      spec,
      KeyedOperators.of(spec, aggregation, codec, rows, conditions, results),
      rows,
      results,
      new SideOutputRows(operatorPlan),
      limits,
      judgeOf,
      bySource = operatorPlan.judgement.exists(_.bySource))
  }
}
