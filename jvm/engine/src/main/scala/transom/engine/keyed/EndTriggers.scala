package transom.engine.keyed

import transom.engine.GlobalGrid

/** Once at the end of the window, then for each late row (flink.md 5.1): `AfterWatermark` as it
  * is when nothing else is asked for.
  */
final class EndOfWindowLogic[R, A] extends TriggerLogic[R, A] {

  override def slots: Int = 0

  override def onRow(window: TriggerContext[R, A]): TriggerResult =
    if (window.end <= window.watermark) TriggerResult.Fire
    else {
      window.addTimer(Timeline.Event, window.end)
      TriggerResult.Continue
    }

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == Timeline.Event && timer == window.end) TriggerResult.Fire
    else TriggerResult.Continue

  // If the end has passed the row that comes next fires; a timer would fire once more.
  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    if (window.end > window.watermark) window.addTimer(Timeline.Event, window.end)

  override def clear(window: TriggerContext[R, A]): Unit =
    window.removeTimer(Timeline.Event, window.end)
}

/** As `early` says until the end of the window, once at its end, then as `late` says.
  *
  * @param late
  *   none: no results after the end
  * @param slot
  *   whether the window has fired at its end
  */
final class AfterWatermarkLogic[R, A](
    early: Option[TriggerLogic[R, A]],
    late: Option[TriggerLogic[R, A]],
    slot: Int)
    extends TriggerLogic[R, A] {

  private val nested = early.toSeq ++ late
  // With every late row firing, Flink lets the early timers go on until cleanup (flink.md 9.3).
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

/** When the wall clock passes the end of the window, and at any other call by the clock (flink.md
  * 5.2). Windows in event time that are open when the input ends fire then.
  */
final class AfterClockLogic[R, A] extends TriggerLogic[R, A] {

  override def slots: Int = 0

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    window.addTimer(Timeline.Clock, window.end)
    TriggerResult.Continue
  }

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == Timeline.Clock || window.watermark >= GlobalGrid.EndOfTime) {
      TriggerResult.Fire
    } else TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    if (window.end > window.clock) window.addTimer(Timeline.Clock, window.end)

  override def clear(window: TriggerContext[R, A]): Unit =
    window.removeTimer(Timeline.Clock, window.end)
}

/** Once, with the cleanup of the window: all rows that it ever takes are in the result. */
final class AfterLatenessLogic[R, A] extends TriggerLogic[R, A] {

  override def slots: Int = 0

  override def onRow(window: TriggerContext[R, A]): TriggerResult = TriggerResult.Continue

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == window.timeline && timer == window.cleanup) TriggerResult.Fire
    else TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit = ()

  override def clear(window: TriggerContext[R, A]): Unit = ()
}

/** When the input ends. */
final class EndOfStreamLogic[R, A] extends TriggerLogic[R, A] {

  override def slots: Int = 0

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    window.addTimer(Timeline.Event, GlobalGrid.EndOfTime)
    TriggerResult.Continue
  }

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == Timeline.Event && timer == GlobalGrid.EndOfTime) TriggerResult.Fire
    else TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    window.addTimer(Timeline.Event, GlobalGrid.EndOfTime)

  override def clear(window: TriggerContext[R, A]): Unit =
    window.removeTimer(Timeline.Event, GlobalGrid.EndOfTime)
}
