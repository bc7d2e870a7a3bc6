package transom.engine.keyed.trigger

import transom.engine.spec._
import transom.engine.window.Timeline

/** Creates executable triggers from specs. */
object Triggers {

  /** Returns the trigger of a spec. Slots are numbered in the order of the trigger tree, so the
    * slots of a trigger depend only on its place in the tree.
    */
  def logic[R, A](trigger: Trigger, conditions: Conditions[R, A]): TriggerLogic[R, A] =
    logic(trigger, conditions, 0)

  private def logic[R, A](
      trigger: Trigger,
      conditions: Conditions[R, A],
      slot: Int): TriggerLogic[R, A] = {
    def nested(inner: Trigger, at: Int): TriggerLogic[R, A] = logic(inner, conditions, at)
    trigger match {
      case AfterWatermark(None, Some(AfterCount(1))) => new EndOfWindowLogic
      case AfterWatermark(early, late) =>
        val before = early.map(nested(_, slot + 1))
        val after = late.map(nested(_, slot + 1 + before.fold(0)(_.slots)))
        new AfterWatermarkLogic(before, after, slot)
      case AfterClock => new AfterClockLogic
      case AfterLateness => new AfterLatenessLogic
      case AfterCount(rows) => new AfterCountLogic(rows, slot)
      case AfterDelta(column, threshold) =>
        new AfterDeltaLogic(conditions.delta(column), threshold, slot)
      case Every(interval, clock, aligned) =>
        val timeline = clock match {
          case TriggerClock.Event => Timeline.Event
          case TriggerClock.Processing => Timeline.Clock
        }
        new EveryLogic(interval, timeline, aligned, slot)
      case When(column) => new WhenLogic(conditions.condition(column))
      case EveryBatch => new EveryBatchLogic(slot)
      case EndOfStream => new EndOfStreamLogic
      case Never => new NeverLogic
      case Purging(inner) => new PurgingLogic(nested(inner, slot))
      case ProcessingTimeout(inner, after, reset, clear) =>
        new ProcessingTimeoutLogic(nested(inner, slot + 1), after, reset, clear, slot)
    }
  }
}
