package transom.engine.keyed

import java.util.Arrays

import transom.engine.firing.{TriggerContext, TriggerMemory}
import transom.engine.keyed.keystate.{Contents, KeyState, WindowState}
import transom.engine.time.Timeline
import transom.engine.window.Arrival

/** The trigger's view of the current window.
  *
  * One instance serves a task. Call `open`, then `pointAt` for each window. `setRow` must come
  * before a trigger's `onRow`. Not thread-safe.
  */
private[keyed] final class WindowContext[R, A <: AnyRef](
    plan: KeyedPlan[R, A],
    contents: Contents[R])
    extends TriggerContext[R, A] {

  private var state: KeyState[A] = _
  private var window: WindowState[A] = _
  private var arrival: Arrival = _
  private var newRow: R = _
  private var nowWatermark = Long.MinValue
  private var nowClock = Long.MinValue

  def open(state: KeyState[A], watermark: Long, clock: Long): Unit = {
    this.state = state
    nowWatermark = watermark
    nowClock = clock
  }

  def setRow(row: R, arrival: Arrival): Unit = {
    newRow = row
    this.arrival = arrival
  }

  def pointAt(window: WindowState[A]): this.type = {
    this.window = window
    this
  }

  override def timeline: Timeline = plan.assigner.timeline
  override def end: Long = plan.assigner.endOf(window.bounds)
  override def cleanup: Long = plan.cleanupOf(window.bounds)
  override def watermark: Long = nowWatermark
  override def clock: Long = nowClock
  override def row: R = newRow
  override def time: Long = arrival.time
  override def rowClock: Long = arrival.clock
  override def accumulator: A = window.accumulatorBy(plan.aggregation)

  override def apply(slot: Int): Long =
    if (window.memory == null) TriggerMemory.Unset else window.memory(slot)

  override def update(slot: Int, value: Long): Unit = {
    if (window.memory == null && value != TriggerMemory.Unset) {
      window.memory = new Array[Long](plan.trigger.slots)
      Arrays.fill(window.memory, TriggerMemory.Unset)
    }
    if (window.memory != null) window.memory(slot) = value
  }

  override def addTimer(timeline: Timeline, timer: Long): Unit = {
    window.timers(timeline).add(timer)
    if (isCleanup(timeline, timer)) window.endsSilently = false
    state.noteTimer(timeline, timer)
  }

  // The cleanup timer stays. In Flink a trigger that removes this timer leaks the window.
  override def removeTimer(timeline: Timeline, timer: Long): Unit =
    if (isCleanup(timeline, timer)) window.endsSilently = true
    else window.timers(timeline).remove(timer)

  private def isCleanup(timeline: Timeline, timer: Long): Boolean =
    timeline == this.timeline && timer == cleanup

  // The row is stored in a row list of its own. The slot holds the number of the list.
  override def rememberedRow(slot: Int): R = contents.get(apply(slot), 0L)

  override def remember(slot: Int, row: R): Unit = {
    if (!isSet(slot)) {
      update(slot, state.nextList)
      state.nextList += 1
    }
    contents.put(apply(slot), 0L, row)
  }

  override def forget(slot: Int): Unit = if (isSet(slot)) {
    contents.remove(apply(slot), 0L)
    unset(slot)
  }
}

/** Trigger memory of a window that was merged into another one. Read only. */
private[keyed] final class MergedMemory(window: WindowState[_]) extends TriggerMemory {

  override def apply(slot: Int): Long =
    if (window.memory == null) TriggerMemory.Unset else window.memory(slot)
}
