package transom.engine.conformance.driver

import transom.engine.conformance.vector.Json
import transom.engine.firing.{TriggerContext, TriggerLogic, TriggerMemory, TriggerResult}
import transom.engine.time.Timeline

/** A trigger of Flink's tests with one result for all rows and one result for all timers. */
final class FixedTrigger(row: TriggerResult, timer: TriggerResult)
    extends TriggerLogic[Row, Vector[Json]] {
  private type Window = TriggerContext[Row, Vector[Json]]

  override def slots: Int = 0
  override def onRow(window: Window): TriggerResult = row
  override def onTimer(timeline: Timeline, time: Long, window: Window): TriggerResult = timer
  override def onMerge(sources: Seq[TriggerMemory], window: Window): Unit = ()
  override def clear(window: Window): Unit = ()
}

/** Fires and purges at the end of the window and at each timer after it. */
final class FireAndPurgeTrigger extends TriggerLogic[Row, Vector[Json]] {
  private type Window = TriggerContext[Row, Vector[Json]]

  override def slots: Int = 0
  override def onRow(window: Window): TriggerResult = {
    window.addTimer(Timeline.Event, window.end)
    TriggerResult.Continue
  }
  override def onTimer(timeline: Timeline, time: Long, window: Window): TriggerResult =
    TriggerResult.FireAndPurge
  override def onMerge(sources: Seq[TriggerMemory], window: Window): Unit =
    window.addTimer(Timeline.Event, window.end)
  override def clear(window: Window): Unit = window.removeTimer(Timeline.Event, window.end)
}
