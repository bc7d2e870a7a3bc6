package transom.engine.keyed

import scala.collection.mutable

import transom.engine.conformance.driver.Row
import transom.engine.firing.{Eviction, Evictor, KeepLast, KeepNear, KeepRecent, KeepWhere, Trigger, TriggerResult}
import transom.engine.time.Timeline
import transom.engine.window.TimeWindow

/** A model of Flink's window operator for one key, in Flink's own terms (flink.md 2 to 7).
  *
  * After a watermark, no row with a time at or before the watermark arrives. The largest time of
  * a window is one tick before its end. Timers are a set, and run in order of time.
  *
  * The model differs from Flink in one point. A window is dropped at its cleanup time even if its
  * trigger has deleted the cleanup timer (flink.md 5.8). Flink keeps such a window forever.
  */
final class FlinkModel(
    assign: Row => Seq[TimeWindow],
    timeline: Timeline,
    isMerging: Boolean,
    trigger: Trigger,
    evictor: Option[Evictor],
    lateness: Long) {

  private val triggers = new ModelTriggers(timeline, lateness)
  private val contents = mutable.LinkedHashMap.empty[TimeWindow, Vector[Row]]
  private val sessions = mutable.Set.empty[TimeWindow]
  private val cleanups = mutable.SortedSet.empty[(Long, TimeWindow)](triggers.byTime)
  private val fired = mutable.ArrayBuffer.empty[(TimeWindow, Seq[Row])]
  private val logic = triggers.of(trigger)
  import triggers.{clockTimers, eventTimers}

  def takeFired(): Seq[(TimeWindow, Seq[Row])] = {
    val taken = fired.toVector
    fired.clear()
    taken
  }

  /** Processes a row. Returns whether the row is late. */
  def process(row: Row, now: Long): Boolean = {
    triggers.now = now
    val windows = assign(row)
    val accepting = windows.flatMap { own =>
      val window = if (isMerging) merge(own) else own
      if (isLate(window)) {
        sessions -= window
        None
      } else {
        contents(window) = contents.getOrElse(window, Vector.empty) :+ row
        handle(logic.onRow(row, window), window)
        if (cleanup(window) != Long.MaxValue) {
          timers += ((cleanup(window), window))
          cleanups += ((cleanup(window), window))
        }
        Some(window)
      }
    }
    accepting.isEmpty && timeline == Timeline.Event && row.time.get + lateness <= triggers.watermark
  }

  def advance(watermark: Long): Unit = {
    triggers.watermark = watermark
    run(eventTimers, watermark)((time, window) => logic.onEventTime(time, window), Timeline.Event)
  }

  def tick(now: Long): Unit = {
    triggers.now = now
    run(clockTimers, now)((time, window) => logic.onClock(time, window), Timeline.Clock)
  }

  private def timers = if (timeline == Timeline.Clock) clockTimers else eventTimers

  private def cleanup(window: TimeWindow): Long = timeline match {
    case Timeline.Event => window.end - 1 + lateness
    case Timeline.Clock => window.end - 1
    case Timeline.Endless => Long.MaxValue
  }

  private def isLate(window: TimeWindow): Boolean =
    timeline == Timeline.Event && cleanup(window) <= triggers.watermark

  private def merge(own: TimeWindow): TimeWindow = {
    val met = sessions.filter(touches(own, _)).toSeq.sortBy(_.start)
    val whole = met.foldLeft(own)(_ union _)
    if (met != Seq(whole)) {
      sessions --= met
      sessions += whole
      if (met.nonEmpty) {
        logic.onMerge(met, whole)
        val rows = met.flatMap(contents.remove(_).getOrElse(Vector.empty)).toVector
        if (rows.nonEmpty) contents(whole) = rows
        met.foreach { old =>
          logic.clear(old)
          cleanups.filterInPlace(_._2 != old)
          eventTimers.filterInPlace(_._2 != old)
          clockTimers.filterInPlace(_._2 != old)
        }
      }
    }
    whole
  }

  private def touches(a: TimeWindow, b: TimeWindow): Boolean =
    a.start <= b.end && b.start <= a.end

  private def run(timers: mutable.SortedSet[(Long, TimeWindow)], until: Long)(
      call: (Long, TimeWindow) => TriggerResult,
      called: Timeline): Unit = {
    def next = (timers.headOption ++ cleanups.headOption.filter(_ => called == timeline))
      .filter(_._1 <= until)
      .minOption(triggers.byTime)
    Iterator.continually(next).takeWhile(_.isDefined).flatten.foreach { case (time, window) =>
      if (timers.remove((time, window))) handle(call(time, window), window)
      if (called == timeline && time == cleanup(window)) {
        cleanups -= ((time, window))
        contents -= window
        logic.clear(window)
        sessions -= window
      }
    }
  }

  private def handle(result: TriggerResult, window: TimeWindow): Unit = {
    contents.get(window).filter(_.nonEmpty && result.fires).foreach { rows =>
      val before = evictor.filter(_.when == Eviction.Before).fold(rows)(keep(_, rows))
      fired += ((window, before))
      contents(window) = evictor.filter(_.when == Eviction.After).fold(before)(keep(_, before))
    }
    if (result.purges) contents -= window
  }

  private def keep(evictor: Evictor, rows: Vector[Row]): Vector[Row] = evictor match {
    case KeepLast(count, _) => rows.takeRight(count)
    case KeepRecent(within, _) => rows.filter(_.time.get > rows.map(_.time.get).max - within)
    case KeepNear(_, threshold, _) =>
      rows.filter(row => ModelTriggers.delta(row, rows.last) < threshold)
    case KeepWhere(_, _) => rows.filter(ModelTriggers.holds(_, rows.size))
  }
}
