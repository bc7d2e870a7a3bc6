package transom.engine.keyed.trigger

import transom.engine.window.{GlobalGrid, Timeline}

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

/** Fires when the wall clock passes the end of the window (flink.md 5.2). The trigger also fires
  * at any other wall-clock timer of the window. At the end of the input, it fires at the
  * remaining event-time timers of open windows.
  */
final class AfterClockLogic[R, A] extends OneTimerLogic[R, A](Timeline.Clock) {

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == Timeline.Clock || window.watermark >= GlobalGrid.EndOfTime) {
      TriggerResult.Fire
    } else TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    if (window.end > window.clock) setTimer(window)
}

/** Fires once, at the cleanup of the window. The result includes all late rows that were
  * accepted. A window without end fires when the input ends.
  */
sealed class AfterLatenessLogic[R, A] extends OneTimerLogic[R, A](Timeline.Event) {

  override protected def timerOf(window: TriggerContext[R, A]): Long =
    math.min(window.cleanup, GlobalGrid.EndOfTime)

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    setTimer(window)
}

/** Fires when the input ends, at the cleanup of each window that is open then. */
final class EndOfStreamLogic[R, A] extends AfterLatenessLogic[R, A] {

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (window.watermark < GlobalGrid.EndOfTime) TriggerResult.Continue
    else super.onTimer(timeline, timer, window)
}
