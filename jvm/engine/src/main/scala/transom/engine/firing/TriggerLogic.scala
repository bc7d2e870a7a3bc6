package transom.engine.firing

import transom.engine.time.Timeline

/** What a trigger decides about its window, as Flink's `TriggerResult`. */
sealed abstract class TriggerResult(val fires: Boolean, val purges: Boolean)

object TriggerResult {

  /** Do nothing. */
  case object Continue extends TriggerResult(fires = false, purges = false)

  /** Emit a result and keep the contents. */
  case object Fire extends TriggerResult(fires = true, purges = false)

  /** Remove the contents without a result. */
  case object Purge extends TriggerResult(fires = false, purges = true)

  /** Emit a result and remove the contents. */
  case object FireAndPurge extends TriggerResult(fires = true, purges = true)
}

/** Decides when a window fires. Executes a `Trigger` spec.
  *
  * A trigger object has no mutable fields. The trigger stores its data in memory slots of the
  * window, which the context reads and writes. One object therefore serves all windows.
  */
trait TriggerLogic[R, A] {

  /** Number of memory slots that the trigger and its nested triggers use. */
  def slots: Int

  /** Whether the trigger can be used with merging windows. */
  def canMerge: Boolean = true

  /** Whether the trigger reads the accumulator of the window. */
  def readsAccumulator: Boolean = false

  /** Called after a row was added to the window. */
  def onRow(window: TriggerContext[R, A]): TriggerResult

  /** Called when a timer of the window is due. The timer may belong to another trigger or to the
    * cleanup.
    */
  def onTimer(timeline: Timeline, timer: Long, window: TriggerContext[R, A]): TriggerResult

  /** Whether `onBatchEnd` must be called. */
  def seesBatches: Boolean = false

  /** Called at the end of a micro-batch. */
  def onBatchEnd(window: TriggerContext[R, A]): TriggerResult = TriggerResult.Continue

  /** Called after other windows were merged into this one. The new window has no timers and no
    * memory yet.
    *
    * @param sources
    *   memory of the merged windows
    */
  def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit

  /** Removes the trigger's memory and timers of the window. A purge does not call this method
    * (flink.md 4.2).
    */
  def clear(window: TriggerContext[R, A]): Unit
}

/** Memory slots of the triggers of a window. */
trait TriggerMemory {

  /** Value of a slot, or `TriggerMemory.Unset`. */
  def apply(slot: Int): Long

  final def isSet(slot: Int): Boolean = apply(slot) != TriggerMemory.Unset
}

object TriggerMemory {

  /** Marks an empty slot. */
  final val Unset = Long.MinValue
}

/** A trigger's view of its window.
  *
  * Times are microseconds. A timer is due at the first watermark, or wall-clock time, that is not
  * below the timer. Flink's timers are one unit of time earlier.
  */
trait TriggerContext[R, A] extends TriggerMemory {

  /** The kind of time by which the window ends. */
  def timeline: Timeline

  /** Instant at which the window ends; `Timeline.EndOfTime` for windows without end. */
  def end: Long

  /** Time at which the window is removed; `Long.MaxValue` if it never expires. The operator
    * always sets a timer for this time.
    */
  def cleanup: Long

  def watermark: Long
  def clock: Long

  /** The new row. Valid only in `onRow`. */
  def row: R

  /** Time of the new row. Valid only in `onRow`. */
  def time: Long

  /** Wall-clock time when the new row arrived. Valid only in `onRow`. */
  def rowClock: Long

  /** Accumulator of the rows in the window, including the new row. Valid only if
    * `readsAccumulator`.
    */
  def accumulator: A

  def update(slot: Int, value: Long): Unit
  final def unset(slot: Int): Unit = update(slot, TriggerMemory.Unset)

  def addTimer(timeline: Timeline, timer: Long): Unit
  def removeTimer(timeline: Timeline, timer: Long): Unit

  /** Returns a row that was stored in a slot with `remember`. `forget` removes the row. */
  def rememberedRow(slot: Int): R
  def remember(slot: Int, row: R): Unit
  def forget(slot: Int): Unit
}

/** Looks up the user's predicates and distance functions by the column index in the spec. */
trait Conditions[R, A] {
  def condition(column: Int): Condition[R, A]
  def delta(column: Int): Delta[R]
}

/** A predicate of the user on a row and the accumulator of its pane. */
trait Condition[R, A] {

  /** Whether the predicate reads the accumulator. */
  def readsAccumulator: Boolean = true

  /** Returns the predicate for rows that belong to `accumulator`. The predicate is valid until
    * the next call of `among`. The accumulator may be null if `readsAccumulator` is false.
    */
  def among(accumulator: A): R => Boolean
}

/** A distance function of the user. */
trait Delta[R] {

  /** Returns the distance between an older row and a newer row. */
  def apply(older: R, newer: R): Double
}
