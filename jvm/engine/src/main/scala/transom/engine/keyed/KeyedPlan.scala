package transom.engine.keyed

import transom.engine.Ticks
import transom.engine.TimeWindow
import transom.engine.spec._

/** All that one window operator does, ready to run.
  *
  * @param allowedLateness
  *   how long windows in event time outlast their end
  * @param handsOutRows
  *   whether the function wants a window's rows and not their accumulator
  * @param retracts
  *   whether results that have changed are taken back
  * @param countsPanes
  *   whether results say how many came before
  * @param tellsEnds
  *   whether `Results` is told of windows that are forgotten
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
    emitsEnds: Boolean = false,
    boundsFromRows: Boolean = false) {

  if (assigner.isMerging && !trigger.canMerge)
    throw new InvalidSpec("trigger", "cannot be used with windows that merge")

  val evicts: Boolean = before.isDefined || after.isDefined

  /** Whether raw rows have to be kept. */
  val keepsRows: Boolean = emitsRows || evicts

  /** Whether rows are folded as they come. */
  val keepsAccumulators: Boolean = !keepsRows || trigger.readsAccumulator

  /** The instant from which on a window is forgotten; `Long.MaxValue` for never (flink.md 3.2).
    */
  def cleanupOf(window: TimeWindow): Long = assigner.timeline match {
    case Timeline.Event => Ticks.add(assigner.endOf(window), allowedLateness)
    case Timeline.Clock => assigner.endOf(window)
    case Timeline.Endless => Long.MaxValue
  }
}

object KeyedPlan {

  /** The plan of a spec's parts. */
  def of[R, A <: AnyRef](
      window: Window,
      timeline: Timeline,
      trigger: Trigger,
      evictor: Option[Evictor],
      aggregation: WindowAggregation[R, A],
      contents: Contents[R],
      conditions: Conditions[R, A]): KeyedPlan[R, A] = {
    if (evictor.isDefined && trigger == EveryBatch)
      throw new InvalidSpec("evictor", "cannot be used with the trigger EveryBatch")
    val (firing, evicting, isPartial) = window match {
      case count: Count if !count.isNumbered =>
        (AfterCount(count.step), Some(KeepLast(count.size)), true)
      case _ => (trigger, evictor, false)
    }
    val logic: TriggerLogic[R, A] = window match {
      case count: Count if count.isNumbered => new FullCountLogic(count.size)
      case _ => Triggers.logic(firing, conditions)
    }
    def evictors(when: Eviction) =
      evicting.filter(_.when == when).map(Evictors.logic(_, conditions, contents))
    KeyedPlan(
      Assigner.of(window, timeline),
      logic,
      aggregation,
      before = evictors(Eviction.Before),
      after = evictors(Eviction.After),
      boundsFromRows = isPartial)
  }
}
