package transom.engine.keyed

import transom.engine.firing.{Conditions, Eviction, Evictor, EvictorLogic, Trigger, TriggerLogic}
import transom.engine.keyed.contract.{RowStore, WindowAggregation}
import transom.engine.setting.InvalidSpec
import transom.engine.spec._
import transom.engine.time.{Ticks, Timeline}
import transom.engine.window.{Assigner, TimeWindow, Window}

/** What a keyed window operator executes: how rows are assigned, aggregated, fired and evicted.
  *
  * @param before
  *   evictor that runs before the result is emitted
  * @param after
  *   evictor that runs after the result is emitted
  * @param allowedLateness
  *   how long event-time windows are kept after their end, in microseconds
  * @param emitsRows
  *   whether the operator emits the rows of a window instead of its accumulator
  * @param retracts
  *   whether the operator emits changes, which retract earlier results
  * @param countsPanes
  *   whether the firings of each window are counted for the `pane` column
  * @param reportsGone
  *   whether `Results.windowGone` is called when a window is removed
  * @param firstOutput
  *   windows that end before this instant emit no results
  */
final case class KeyedPlan[R, A <: AnyRef](
    assigner: Assigner,
    trigger: TriggerLogic[R, A],
    aggregation: WindowAggregation[R, A],
    before: Option[EvictorLogic[R, A]] = None,
    after: Option[EvictorLogic[R, A]] = None,
    allowedLateness: Long = 0L,
    emitsRows: Boolean = false,
    retracts: Boolean = false,
    countsPanes: Boolean = false,
    reportsGone: Boolean = false,
    firstOutput: Long = Long.MinValue) {

  if (assigner.isMerging && !trigger.canMerge)
    throw new InvalidSpec(
      "trigger",
      "cannot be used with windows that merge",
      "CANNOT_MERGE",
      Map("value" -> "the trigger", "window" -> "merging"))

  val evicts: Boolean = before.isDefined || after.isDefined

  /** Whether the raw rows of windows are kept. */
  val keepsRows: Boolean = emitsRows || evicts

  /** Whether rows are added to an accumulator when they arrive. */
  val keepsAccumulators: Boolean = !keepsRows || trigger.readsAccumulator

  /** Whether a window emits results at all. */
  def emits(window: TimeWindow): Boolean =
    firstOutput == Long.MinValue || assigner.endOf(window) >= firstOutput

  /** Time at which a window is removed, on its timeline; `Long.MaxValue` if it never expires
    * (flink.md 3.2).
    */
  def cleanupOf(window: TimeWindow): Long = assigner.timeline match {
    case Timeline.Event => Ticks.add(assigner.endOf(window), allowedLateness)
    case Timeline.Clock => assigner.endOf(window)
    case Timeline.Endless => Long.MaxValue
  }
}

/** Creates plans from specs. */
object KeyedPlan {

  /** Creates the plan of a whole spec. */
  def of[R, A <: AnyRef](
      spec: WindowSpec,
      aggregation: WindowAggregation[R, A],
      rows: RowStore[R],
      conditions: Conditions[R, A]): KeyedPlan[R, A] =
    of(
      spec.window,
      if (spec.time.contains(ProcessingTime)) Timeline.Clock else Timeline.Event,
      spec.trigger,
      spec.evictor,
      aggregation,
      rows,
      conditions)
      .copy(
        allowedLateness = spec.allowedLatenessUs,
        retracts = spec.retract,
        emitsRows = spec.function.takesRows,
        countsPanes = spec.pane,
        reportsGone = spec.function.keepsByWindow,
        firstOutput = spec.firstOutputUs.getOrElse(Long.MinValue))

  /** Creates the plan of a window, a trigger and an evictor. Throws `InvalidSpec` if the trigger
    * cannot be used with windows that merge.
    */
  def of[R, A <: AnyRef](
      window: Window,
      timeline: Timeline,
      trigger: Trigger,
      evictor: Option[Evictor],
      aggregation: WindowAggregation[R, A],
      rows: RowStore[R],
      conditions: Conditions[R, A]): KeyedPlan[R, A] = {
    val logic: TriggerLogic[R, A] =
      window.runningTrigger.getOrElse(trigger).logic(conditions)
    def evictors(when: Eviction) =
      window.ownEvictor
        .orElse(evictor)
        .filter(_.when == when)
        .map(_.logic(conditions, rows))
    KeyedPlan(
      window.assigner(timeline),
      logic,
      aggregation,
      before = evictors(Eviction.Before),
      after = evictors(Eviction.After))
  }
}
