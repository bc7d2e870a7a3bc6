package transom.engine.firing

import transom.engine.setting.Check
import transom.engine.time.{Ticks, Timeline}

/** Decides when a window fires. A trigger may wrap other triggers. */
sealed trait Trigger extends Product {

  /** Whether the trigger can be used with merging windows. */
  def canMerge: Boolean = nested.forall(_.canMerge)

  /** Whether the trigger itself controls the firing at the end of the window. */
  def isForEnds: Boolean = false

  /** Whether the trigger fires in processing time. */
  def isOnClock: Boolean = false

  /** The triggers that are direct arguments of this trigger. */
  def nested: Seq[Trigger] = Nil

  /** This trigger and all nested triggers, at any depth. */
  final def parts: Seq[Trigger] = this +: nested.flatMap(_.parts)

  /** Creates the logic of the trigger.
    *
    * @param conditions
    *   the user's predicates and distance functions
    * @param slot
    *   number of the first memory slot. Slots are numbered in the order of the trigger tree, so
    *   the slots of a trigger depend only on its place in the tree.
    */
  def logic[R, A](conditions: Conditions[R, A], slot: Int = 0): TriggerLogic[R, A]
}

private[firing] object Trigger {

  /** Rejects `EveryBatch` as a nested trigger.
    *
    * @param outer
    *   the trigger around it
    */
  def checkNested(field: String, trigger: Trigger, outer: String): Unit =
    Check.that(
      field,
      !trigger.parts.contains(EveryBatch),
      "has EveryBatch inside another trigger",
      "NOT_IN_PLACE",
      "inner" -> EveryBatch.productPrefix,
      "outer" -> outer,
      "why" -> ("EveryBatch waits for the end of a micro-batch, and other triggers react to " +
        "each row"),
      "instead" -> "EveryBatch alone, or AfterCount(1) for a result after each row")
}

/** A trigger that has no memory and sets one timer in each window.
  *
  * @param timeline
  *   the timeline of the timer
  */
sealed abstract class OneTimerLogic[R, A](timeline: Timeline) extends TriggerLogic[R, A] {

  /** The time of the timer. */
  protected def timerOf(window: TriggerContext[R, A]): Long = window.end

  protected def setTimer(window: TriggerContext[R, A]): Unit =
    window.addTimer(timeline, timerOf(window))

  override def slots: Int = 0

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    setTimer(window)
    TriggerResult.Continue
  }

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == this.timeline && timer == timerOf(window)) TriggerResult.Fire
    else TriggerResult.Continue

  override def clear(window: TriggerContext[R, A]): Unit =
    window.removeTimer(timeline, timerOf(window))
}

/** Base of triggers that react only to rows and batch ends and set no timers. */
abstract class RowTriggerLogic[R, A] extends TriggerLogic[R, A] {

  override def slots: Int = 0

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit = ()

  override def clear(window: TriggerContext[R, A]): Unit = ()
}

/** Fires when the watermark passes the end of the window.
  *
  * @param early
  *   the trigger for firings before the end; none for no early firings
  * @param late
  *   the trigger for firings after the end; none for no late firings
  */
final case class AfterWatermark(
    early: Option[Trigger] = None,
    late: Option[Trigger] = Some(AfterCount(1)))
    extends Trigger {

  Seq("early" -> early, "late" -> late).foreach { case (field, inner) =>
    inner.foreach { trigger =>
      Trigger.checkNested(field, trigger, productPrefix)
      Check.that(
        field,
        !trigger.parts.exists(_.isForEnds),
        "has a trigger for ends of windows",
        "NOT_IN_PLACE",
        "inner" -> trigger.parts.find(_.isForEnds).fold("")(_.productPrefix),
        "outer" -> productPrefix,
        "why" -> "AfterWatermark fires at the end of the window itself",
        "instead" -> "a trigger that fires before or after the end, such as AfterCount(100)")
    }
  }

  override def nested: Seq[Trigger] = early.toSeq ++ late

  override def isForEnds: Boolean = true

  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    if (early.isEmpty && late.contains(AfterCount(1))) new EndOfWindowLogic
    else {
      val before = early.map(_.logic(conditions, slot + 1))
      val after = late.map(_.logic(conditions, slot + 1 + before.fold(0)(_.slots)))
      new AfterWatermarkLogic(before, after, slot)
    }
}

/** Fires once at the end of the window, then for each late row (flink.md 5.1). This is the
  * default form of `AfterWatermark`.
  */
final class EndOfWindowLogic[R, A] extends OneTimerLogic[R, A](Timeline.Event) {

  override def onRow(window: TriggerContext[R, A]): TriggerResult =
    if (window.end <= window.watermark) TriggerResult.Fire else super.onRow(window)

  // If the end has passed, the merging row fires in `onRow`. A timer would fire a second time.
  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    if (window.end > window.watermark) setTimer(window)
}

/** Fires by `early` before the end of the window, once at the end, and then by `late`.
  *
  * @param late
  *   if none, the trigger does not fire after the end
  * @param slot
  *   set once the window has fired at its end
  */
final class AfterWatermarkLogic[R, A](
    early: Option[TriggerLogic[R, A]],
    late: Option[TriggerLogic[R, A]],
    slot: Int)
    extends TriggerLogic[R, A] {

  private val nested = early.toSeq ++ late
  // If each late row makes the window fire, early timers stay active until the cleanup, as in
  // Flink (flink.md 9.3).
  private val firesEachLateRow = late.exists {
    case count: AfterCountLogic[_, _] => count.rows == 1
    case _ => false
  }

  override def slots: Int = 1 + nested.map(_.slots).sum

  override def canMerge: Boolean = nested.forall(_.canMerge)

  override def readsAccumulator: Boolean = nested.exists(_.readsAccumulator)

  override def onRow(window: TriggerContext[R, A]): TriggerResult =
    if (window.end > window.watermark) {
      window.addTimer(Timeline.Event, window.end)
      early.fold[TriggerResult](TriggerResult.Continue)(_.onRow(window))
    } else if (firesEachLateRow || !window.isSet(slot) && late.isDefined) TriggerResult.Fire
    else late.fold[TriggerResult](TriggerResult.Continue)(_.onRow(window))

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == Timeline.Event && timer == window.end) {
      window(slot) = 1L
      TriggerResult.Fire
    } else if (firesEachLateRow || !window.isSet(slot)) {
      early.fold[TriggerResult](TriggerResult.Continue)(_.onTimer(timeline, timer, window))
    } else late.fold[TriggerResult](TriggerResult.Continue)(_.onTimer(timeline, timer, window))

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit = {
    nested.foreach(_.onMerge(sources, window))
    if (window.end > window.watermark) window.addTimer(Timeline.Event, window.end)
  }

  override def clear(window: TriggerContext[R, A]): Unit = {
    window.removeTimer(Timeline.Event, window.end)
    window.unset(slot)
    nested.foreach(_.clear(window))
  }
}

/** Fires when processing time passes the end of the window. */
case object AfterClock extends Trigger {

  override def isForEnds: Boolean = true

  override def isOnClock: Boolean = true

  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    new AfterClockLogic
}

/** Fires when the wall clock passes the end of the window (flink.md 5.2). The trigger also fires
  * at any other wall-clock timer of the window. At the end of the input, it fires at the
  * remaining event-time timers of open windows.
  */
final class AfterClockLogic[R, A] extends OneTimerLogic[R, A](Timeline.Clock) {

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == Timeline.Clock || window.watermark >= Timeline.EndOfTime) {
      TriggerResult.Fire
    } else TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    if (window.end > window.clock) setTimer(window)
}

/** Fires once, when the watermark reaches the end of the window plus the allowed lateness. */
case object AfterLateness extends Trigger {

  override def isForEnds: Boolean = true

  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    new AfterLatenessLogic
}

/** Fires once, at the cleanup of the window. The result includes all late rows that were
  * accepted. A window without end fires when the input ends.
  */
sealed class AfterLatenessLogic[R, A] extends OneTimerLogic[R, A](Timeline.Event) {

  override protected def timerOf(window: TriggerContext[R, A]): Long =
    math.min(window.cleanup, Timeline.EndOfTime)

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    setTimer(window)
}

/** Fires when the input ends: at the end of a static DataFrame, or when a stream is drained. */
case object EndOfStream extends Trigger {
  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    new EndOfStreamLogic
}

/** Fires when the input ends, at the cleanup of each window that is open then. */
final class EndOfStreamLogic[R, A] extends AfterLatenessLogic[R, A] {

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (window.watermark < Timeline.EndOfTime) TriggerResult.Continue
    else super.onTimer(timeline, timer, window)
}

/** The time that a trigger follows: event time or processing time. */
sealed trait TriggerClock

/** The values of [[TriggerClock]]. */
object TriggerClock {

  /** Event time, measured by the watermark. */
  case object Event extends TriggerClock

  /** Processing time. */
  case object Processing extends TriggerClock
}

/** Fires at regular intervals, and at the end of the window.
  *
  * @param intervalUs
  *   the interval, in microseconds
  * @param clock
  *   whether the interval is in event time or processing time
  * @param aligned
  *   if true, fires at multiples of the interval since 1970; if false, counts from the window's
  *   first row
  */
final case class Every(
    intervalUs: Long,
    clock: TriggerClock = TriggerClock.Event,
    aligned: Boolean = true)
    extends Trigger {

  Check.positive("interval_us", intervalUs)

  override def isOnClock: Boolean = clock == TriggerClock.Processing

  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] = {
    val timeline = clock match {
      case TriggerClock.Event => Timeline.Event
      case TriggerClock.Processing => Timeline.Clock
    }
    new EveryLogic(intervalUs, timeline, aligned, slot)
  }
}

/** Fires at a fixed interval and at the end of the window (flink.md 5.4, 5.5, 9.2).
  *
  * @param interval
  *   in microseconds
  * @param timeline
  *   the kind of time that the interval is measured in
  * @param aligned
  *   whether the firing times are multiples of the interval since 1970. If not, they count from
  *   the first row of the window.
  * @param slot
  *   holds the next firing time
  */
final class EveryLogic[R, A](interval: Long, timeline: Timeline, aligned: Boolean, slot: Int)
    extends TriggerLogic[R, A] {

  override def slots: Int = 1

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    val isPast = window.timeline != Timeline.Clock && window.end <= window.watermark
    if (isPast && timeline == Timeline.Event) TriggerResult.Fire
    else {
      if (!isPast && window.timeline != Timeline.Clock) {
        window.addTimer(Timeline.Event, window.end)
      }
      if (!window.isSet(slot)) {
        val time = if (timeline == Timeline.Event) window.time else window.rowClock
        // Truncates toward zero as Flink does, so before 1970 the first firing is one interval
        // later.
        set(next(if (aligned) time - time % interval else time, window), window)
      }
      TriggerResult.Continue
    }
  }

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == Timeline.Event && timer == window.end && window.timeline != Timeline.Clock) {
      TriggerResult.Fire
    } else if (timeline == this.timeline && timer == window(slot)) {
      window.unset(slot)
      if (repeats(timer, window)) set(next(timer - 1, window), window)
      TriggerResult.Fire
    } else TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit = {
    val pending = sources.filter(_.isSet(slot)).map(_(slot))
    pending.minOption.foreach(set(_, window))
  }

  override def clear(window: TriggerContext[R, A]): Unit =
    if (window.isSet(slot)) {
      window.removeTimer(timeline, window(slot))
      window.unset(slot)
    }

  /** The firing time after `after`, but not later than the end of the window. */
  private def next(after: Long, window: TriggerContext[R, A]): Long = {
    val timer = Ticks.add(Ticks.add(after, interval), 1L)
    if (hasEnd(window)) math.min(timer, window.end) else timer
  }

  // When the input ends, the watermark jumps to the end of time. Without this limit, a window
  // without end would fire for each interval until then.
  private def repeats(timer: Long, window: TriggerContext[R, A]): Boolean =
    !hasEnd(window) ||
      timer < window.end &&
      (window.timeline != Timeline.Endless || window.watermark < window.end)

  private def hasEnd(window: TriggerContext[R, A]): Boolean =
    window.timeline == timeline ||
      window.timeline == Timeline.Endless && timeline == Timeline.Event

  private def set(timer: Long, window: TriggerContext[R, A]): Unit = {
    window(slot) = timer
    window.addTimer(timeline, timer)
  }
}

/** Fires after every `rows` rows. */
final case class AfterCount(rows: Int) extends Trigger {

  Check.positive("rows", rows)

  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    new AfterCountLogic(rows, slot)
}

/** Fires after every `rows` rows (flink.md 5.3). When windows merge, their counts are added up.
  * The sum may exceed `rows` before the next row makes the trigger fire.
  */
final class AfterCountLogic[R, A](val rows: Int, slot: Int) extends RowTriggerLogic[R, A] {

  override def slots: Int = 1

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    val count = if (window.isSet(slot)) window(slot) + 1 else 1L
    if (count < rows) {
      window(slot) = count
      TriggerResult.Continue
    } else {
      window.unset(slot)
      TriggerResult.Fire
    }
  }

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit = {
    val counts = sources.filter(_.isSet(slot)).map(_(slot))
    if (counts.nonEmpty) window(slot) = counts.sum
  }

  override def clear(window: TriggerContext[R, A]): Unit = window.unset(slot)
}

/** Fires when the distance between a row and the row of the last firing exceeds `threshold`.
  *
  * @param deltaColumn
  *   index of the distance function's column
  * @param threshold
  *   the distance that must be exceeded
  */
final case class AfterDelta(deltaColumn: Int, threshold: Double) extends Trigger {

  override def canMerge: Boolean = false

  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    new AfterDeltaLogic(conditions.delta(deltaColumn), threshold, slot)
}

/** Fires when the distance between the new row and the row of the last firing exceeds
  * `threshold`. Before the first firing, the distance is measured from the first row of the
  * window (flink.md 5.6).
  */
final class AfterDeltaLogic[R, A](delta: Delta[R], threshold: Double, slot: Int)
    extends RowTriggerLogic[R, A] {

  override def slots: Int = 1

  override def canMerge: Boolean = false

  override def onRow(window: TriggerContext[R, A]): TriggerResult =
    if (!window.isSet(slot)) {
      window.remember(slot, window.row)
      TriggerResult.Continue
    } else if (delta(window.rememberedRow(slot), window.row) > threshold) {
      window.remember(slot, window.row)
      TriggerResult.Fire
    } else TriggerResult.Continue

  override def clear(window: TriggerContext[R, A]): Unit = window.forget(slot)
}

/** Fires when a predicate on the new row and the contents of its window is true.
  *
  * @param conditionColumn
  *   index of the predicate's column
  */
final case class When(conditionColumn: Int) extends Trigger {
  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    new WhenLogic(conditions.condition(conditionColumn))
}

/** Fires when the predicate holds for a new row and its window. The accumulator includes the row.
  */
final class WhenLogic[R, A](condition: Condition[R, A]) extends RowTriggerLogic[R, A] {

  override def readsAccumulator: Boolean = condition.readsAccumulator

  override def onRow(window: TriggerContext[R, A]): TriggerResult =
    if (condition.among(window.accumulator)(window.row)) TriggerResult.Fire
    else TriggerResult.Continue
}

/** Fires at the end of each micro-batch that added rows to the window. */
case object EveryBatch extends Trigger {
  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    new EveryBatchLogic(slot)
}

/** Fires at the end of each micro-batch in which the window got rows. If the watermark of a row
  * removes the window before the batch ends, the window fires at its cleanup.
  *
  * @param slot
  *   set if the window got rows in this batch
  */
final class EveryBatchLogic[R, A](slot: Int) extends RowTriggerLogic[R, A] {

  override def slots: Int = 1

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    window(slot) = 1L
    TriggerResult.Continue
  }

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == window.timeline && timer == window.cleanup) onBatchEnd(window)
    else TriggerResult.Continue

  override def seesBatches: Boolean = true

  override def onBatchEnd(window: TriggerContext[R, A]): TriggerResult =
    if (window.isSet(slot)) {
      window.unset(slot)
      TriggerResult.Fire
    } else TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    if (sources.exists(_.isSet(slot))) window(slot) = 1L

  override def clear(window: TriggerContext[R, A]): Unit = window.unset(slot)
}

/** Never fires. */
case object Never extends Trigger {
  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    new NeverLogic
}

/** Never fires. */
final class NeverLogic[R, A] extends RowTriggerLogic[R, A] {

  override def onRow(window: TriggerContext[R, A]): TriggerResult = TriggerResult.Continue
}

/** Fires when `trigger` fires, and clears the contents of the window after each firing. */
final case class Purging(trigger: Trigger) extends Trigger {

  Trigger.checkNested("trigger", trigger, productPrefix)

  override def nested: Seq[Trigger] = Seq(trigger)

  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    new PurgingLogic(trigger.logic(conditions, slot))
}

/** Fires by `nested` and removes the contents of the window at each firing (flink.md 5.7). */
final class PurgingLogic[R, A](nested: TriggerLogic[R, A]) extends TriggerLogic[R, A] {

  override def slots: Int = nested.slots

  override def canMerge: Boolean = nested.canMerge

  override def readsAccumulator: Boolean = nested.readsAccumulator

  override def onRow(window: TriggerContext[R, A]): TriggerResult =
    PurgingLogic.purging(nested.onRow(window))

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    PurgingLogic.purging(nested.onTimer(timeline, timer, window))

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    nested.onMerge(sources, window)

  override def clear(window: TriggerContext[R, A]): Unit = nested.clear(window)
}

object PurgingLogic {

  /** Turns a firing into a firing that also purges. */
  def purging(result: TriggerResult): TriggerResult =
    if (result.fires) TriggerResult.FireAndPurge else result
}

/** Fires when `trigger` fires, and also after a timeout in processing time.
  *
  * As in Flink, any timer of the window makes this trigger fire (flink.md 5.8).
  *
  * @param trigger
  *   the wrapped trigger
  * @param afterUs
  *   the timeout in microseconds, counted from the first row since the last firing
  * @param reset
  *   whether each row restarts the timeout
  * @param clear
  *   whether `trigger` is reset when a timer fires
  */
final case class ProcessingTimeout(
    trigger: Trigger,
    afterUs: Long,
    reset: Boolean = false,
    clear: Boolean = true)
    extends Trigger {

  Check.positive("after_us", afterUs)
  Trigger.checkNested("trigger", trigger, productPrefix)

  override def isOnClock: Boolean = true

  override def canMerge: Boolean = false

  override def nested: Seq[Trigger] = Seq(trigger)

  override def logic[R, A](conditions: Conditions[R, A], slot: Int): TriggerLogic[R, A] =
    new ProcessingTimeoutLogic(trigger.logic(conditions, slot + 1), afterUs, reset, clear, slot)
}

/** Fires by `nested`, and when a processing-time timeout expires (flink.md 5.8).
  *
  * The timeout starts with the first row of the window. After `nested` fires on a row, the
  * timeout stops, and the next row starts it again. An expired timeout stays expired until then,
  * unless `reset` or `clear` is set. Any timer of the window makes the trigger fire, including
  * the cleanup timer.
  *
  * With `clear`, a timeout also removes the timer of `nested` at the end of the window. Without
  * lateness, the timer at the end is also the cleanup timer. The window then fires at its end
  * only if more rows come.
  *
  * @param after
  *   length of the timeout in microseconds
  * @param reset
  *   whether each row starts the timeout again
  * @param clear
  *   whether the state of `nested` is cleared at each timer of the window
  * @param slot
  *   holds the time of the timeout
  */
final class ProcessingTimeoutLogic[R, A](
    nested: TriggerLogic[R, A],
    after: Long,
    reset: Boolean,
    clear: Boolean,
    slot: Int)
    extends TriggerLogic[R, A] {

  override def slots: Int = 1 + nested.slots

  override def canMerge: Boolean = false

  override def readsAccumulator: Boolean = nested.readsAccumulator

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    val result = nested.onRow(window)
    if (result.fires) clear(window)
    else {
      if (reset) stop(window)
      if (!window.isSet(slot)) {
        val timer = Ticks.add(Ticks.add(window.rowClock, after), 1L)
        window(slot) = timer
        window.addTimer(Timeline.Clock, timer)
      }
    }
    result
  }

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult = {
    val result = nested.onTimer(timeline, timer, window)
    if (clear) clear(window)
    if (result.purges) TriggerResult.FireAndPurge else TriggerResult.Fire
  }

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    throw new UnsupportedOperationException("windows with a processing timeout do not merge")

  override def clear(window: TriggerContext[R, A]): Unit = {
    stop(window)
    nested.clear(window)
  }

  private def stop(window: TriggerContext[R, A]): Unit = if (window.isSet(slot)) {
    window.removeTimer(Timeline.Clock, window(slot))
    window.unset(slot)
  }
}
