package transom.engine.keyed

/** What a trigger wants done with its window. */
sealed abstract class TriggerResult(val fires: Boolean, val purges: Boolean)

object TriggerResult {
  case object Continue extends TriggerResult(fires = false, purges = false)

  /** A result; the contents stay for the next one. */
  case object Fire extends TriggerResult(fires = true, purges = false)

  /** The contents go, silently. */
  case object Purge extends TriggerResult(fires = false, purges = true)
  case object FireAndPurge extends TriggerResult(fires = true, purges = true)
}

/** The running half of a trigger. It has no changing fields: what it remembers of a window lies
  * in slots of the window's memory, and it gets hold of them through the context.
  */
trait TriggerLogic[R, A] {

  /** How many slots it and the triggers inside it take up. */
  def slots: Int

  /** Whether it knows what to make of the memory of windows that merge. */
  def canMerge: Boolean = true

  /** Whether it looks at the accumulator of the window. */
  def readsAccumulator: Boolean = false

  /** A row has come into the window. */
  def onRow(window: TriggerContext[R, A]): TriggerResult

  /** A timer of the window is due, not always one that this trigger has set. */
  def onTimer(timeline: Timeline, timer: Long, window: TriggerContext[R, A]): TriggerResult

  /** Whether it wants to know when a micro-batch is over. */
  def seesBatches: Boolean = false

  /** The micro-batch is over. */
  def onBatchEnd(window: TriggerContext[R, A]): TriggerResult = TriggerResult.Continue

  /** The window has taken in others, whose timers are gone. Its own memory is empty.
    *
    * @param sources
    *   the memory of those others
    */
  def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit

  /** Forgets the window: memory and timers. Not called by a purge (flink.md 4.2). */
  def clear(window: TriggerContext[R, A]): Unit
}

/** What triggers remember of a window. */
trait TriggerMemory {

  /** `WindowState.Unset` if it holds nothing. */
  def apply(slot: Int): Long

  final def isSet(slot: Int): Boolean = apply(slot) != WindowState.Unset
}

/** A window, as its trigger sees it. Timers name the first watermark, or clock, at which they are
  * due: a tick later than Flink counts.
  */
trait TriggerContext[R, A] extends TriggerMemory {

  /** What the window ends by. */
  def timeline: Timeline

  /** Where it ends; the end of time for windows without end. */
  def end: Long

  /** Where it is forgotten, `Long.MaxValue` for never. A timer is always set then. */
  def cleanup: Long

  def watermark: Long
  def clock: Long

  /** The row that has come, in `onRow` only. */
  def row: R

  /** The row's time and what the clock showed when it came, in `onRow` only. */
  def time: Long
  def rowClock: Long

  /** The accumulator of the rows in the window, this one included, if `readsAccumulator`. */
  def accumulator: A

  def update(slot: Int, value: Long): Unit
  final def unset(slot: Int): Unit = update(slot, WindowState.Unset)

  def addTimer(timeline: Timeline, timer: Long): Unit
  def removeTimer(timeline: Timeline, timer: Long): Unit

  /** A whole row, kept under a slot of the memory. */
  def rememberedRow(slot: Int): R
  def remember(slot: Int, row: R): Unit
  def forget(slot: Int): Unit
}
