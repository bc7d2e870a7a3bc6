package transom.engine.keyed

import scala.collection.mutable

import transom.engine.conformance.driver.Row
import transom.engine.firing._
import transom.engine.time.Timeline
import transom.engine.window.TimeWindow

/** A model of Flink's triggers for one key (flink.md 5 and 9). */
final class ModelTriggers(windowTimeline: Timeline, lateness: Long) {
  import TriggerResult._

  val byTime: Ordering[(Long, TimeWindow)] = Ordering.by { case (time, w) =>
    (time, w.start, w.end)
  }
  val eventTimers = mutable.SortedSet.empty[(Long, TimeWindow)](byTime)
  val clockTimers = mutable.SortedSet.empty[(Long, TimeWindow)](byTime)
  var watermark: Long = Long.MinValue
  var now: Long = Long.MinValue

  abstract class Model {
    def onRow(row: Row, w: TimeWindow): TriggerResult
    def onEventTime(time: Long, w: TimeWindow): TriggerResult = Continue
    def onClock(time: Long, w: TimeWindow): TriggerResult = Continue
    def onMerge(from: Seq[TimeWindow], into: TimeWindow): Unit = ()
    def clear(w: TimeWindow): Unit = ()
  }

  def of(trigger: Trigger): Model = trigger match {
    case AfterWatermark(early, late) => new End(early.map(of), late)
    case AfterClock =>
      new Model {
        override def onRow(row: Row, w: TimeWindow) = { clockTimers += ((max(w), w)); Continue }
        override def onClock(time: Long, w: TimeWindow) = Fire
        override def onMerge(from: Seq[TimeWindow], into: TimeWindow): Unit =
          if (max(into) > now) clockTimers += ((max(into), into))
        override def clear(w: TimeWindow): Unit = clockTimers -= ((max(w), w))
      }
    case AfterLateness =>
      new Model {
        override def onRow(row: Row, w: TimeWindow) = { onMerge(Nil, w); Continue }
        override def onEventTime(time: Long, w: TimeWindow) =
          if (time == max(w) + lateness) Fire else Continue
        override def onMerge(from: Seq[TimeWindow], into: TimeWindow): Unit =
          eventTimers += ((max(into) + lateness, into))
        override def clear(w: TimeWindow): Unit = eventTimers -= ((max(w) + lateness, w))
      }
    case AfterCount(rows) =>
      new Model {
        private val counts = mutable.Map.empty[TimeWindow, Int]
        override def onRow(row: Row, w: TimeWindow) = {
          counts(w) = counts.getOrElse(w, 0) + 1
          if (counts(w) >= rows) { counts -= w; Fire }
          else Continue
        }
        override def onMerge(from: Seq[TimeWindow], into: TimeWindow): Unit =
          counts(into) = from.flatMap(counts.remove).sum
        override def clear(w: TimeWindow): Unit = counts -= w
      }
    case Every(interval, TriggerClock.Event, true) => new EveryEventTime(interval)
    case Every(interval, TriggerClock.Processing, aligned) => new EveryClock(interval, aligned)
    case AfterDelta(_, threshold) =>
      new Model {
        private val last = mutable.Map.empty[TimeWindow, Row]
        override def onRow(row: Row, w: TimeWindow) =
          if (!last.contains(w)) { last(w) = row; Continue }
          else if (ModelTriggers.delta(last(w), row) > threshold) { last(w) = row; Fire }
          else Continue
        override def clear(w: TimeWindow): Unit = last -= w
      }
    case Purging(nested) =>
      val inner = of(nested)
      def purging(result: TriggerResult) = if (result == Fire) FireAndPurge else result
      new Model {
        override def onRow(row: Row, w: TimeWindow) = purging(inner.onRow(row, w))
        override def onEventTime(t: Long, w: TimeWindow) = purging(inner.onEventTime(t, w))
        override def onClock(t: Long, w: TimeWindow) = purging(inner.onClock(t, w))
        override def onMerge(from: Seq[TimeWindow], into: TimeWindow): Unit =
          inner.onMerge(from, into)
        override def clear(w: TimeWindow): Unit = inner.clear(w)
      }
    case ProcessingTimeout(nested, after, reset, clears) =>
      new Timeout(of(nested), after, reset, clears)
    case Never => new Model { override def onRow(row: Row, w: TimeWindow) = Continue }
    case other => throw new IllegalArgumentException(s"no model of $other")
  }

  private def max(w: TimeWindow): Long =
    if (windowTimeline == Timeline.Endless) Long.MaxValue else w.end - 1

  /** `EventTimeTrigger`, and the trigger of Flink's Table API with early and late firings. */
  private final class End(early: Option[Model], late: Option[Trigger]) extends Model {
    private val afterEnd = late.filter(_ != AfterCount(1)).map(of)
    private val isOnTime = mutable.Set.empty[TimeWindow]

    override def onRow(row: Row, w: TimeWindow) =
      if (max(w) > watermark) {
        eventTimers += ((max(w), w))
        early.fold[TriggerResult](Continue)(_.onRow(row, w))
      } else if (late.isEmpty) Continue
      else if (isOnTime(w)) afterEnd.fold[TriggerResult](Fire)(_.onRow(row, w))
      else Fire
    override def onEventTime(time: Long, w: TimeWindow) =
      if (time == max(w)) { isOnTime += w; Fire }
      else if (goesEarly(w)) early.fold[TriggerResult](Continue)(_.onEventTime(time, w))
      else afterEnd.fold[TriggerResult](Continue)(_.onEventTime(time, w))
    override def onClock(time: Long, w: TimeWindow) =
      if (goesEarly(w)) early.fold[TriggerResult](Continue)(_.onClock(time, w))
      else afterEnd.fold[TriggerResult](Continue)(_.onClock(time, w))
    private def goesEarly(w: TimeWindow) = late.contains(AfterCount(1)) || !isOnTime(w)
    override def onMerge(from: Seq[TimeWindow], into: TimeWindow): Unit = {
      (early ++ afterEnd).foreach(_.onMerge(from, into))
      if (max(into) > watermark) eventTimers += ((max(into), into))
    }
    override def clear(w: TimeWindow): Unit = {
      eventTimers -= ((max(w), w))
      isOnTime -= w
      (early ++ afterEnd).foreach(_.clear(w))
    }
  }

  private final class EveryEventTime(interval: Long) extends Model {
    private val next = mutable.Map.empty[TimeWindow, Long]
    override def onRow(row: Row, w: TimeWindow) =
      if (max(w) <= watermark) Fire
      else {
        eventTimers += ((max(w), w))
        if (!next.contains(w)) plan(row.time.get - row.time.get % interval, w)
        Continue
      }
    private def plan(from: Long, w: TimeWindow): Unit = {
      next(w) = math.min(from + interval, max(w))
      eventTimers += ((next(w), w))
    }
    override def onEventTime(time: Long, w: TimeWindow) =
      if (time == max(w)) Fire
      else if (next.get(w).contains(time)) { plan(time, w); Fire }
      else Continue
    override def onMerge(from: Seq[TimeWindow], into: TimeWindow): Unit =
      from.flatMap(next.remove).minOption.foreach { time =>
        next(into) = time
        eventTimers += ((time, into))
      }
    override def clear(w: TimeWindow): Unit =
      next.remove(w).foreach(time => eventTimers -= ((time, w)))
  }

  /** Fires at intervals of the wall clock. In processing time, the firings stop at the window's
    * end.
    */
  private final class EveryClock(interval: Long, aligned: Boolean) extends Model {
    private val next = mutable.Map.empty[TimeWindow, Long]
    private def last(w: TimeWindow) =
      if (windowTimeline == Timeline.Clock) max(w) else Long.MaxValue
    override def onRow(row: Row, w: TimeWindow) = {
      if (!next.contains(w)) plan(if (aligned) now - now % interval else now, w)
      Continue
    }
    private def plan(from: Long, w: TimeWindow): Unit = {
      next(w) = math.min(from + interval, last(w))
      clockTimers += ((next(w), w))
    }
    override def onClock(time: Long, w: TimeWindow) =
      if (next.get(w).contains(time)) {
        next -= w
        if (time < last(w)) plan(time, w)
        Fire
      } else Continue
    override def onMerge(from: Seq[TimeWindow], into: TimeWindow): Unit =
      from.flatMap(next.remove).minOption.foreach { time =>
        next(into) = time
        clockTimers += ((time, into))
      }
    override def clear(w: TimeWindow): Unit =
      next.remove(w).foreach(time => clockTimers -= ((time, w)))
  }

  private final class Timeout(inner: Model, after: Long, reset: Boolean, clears: Boolean)
      extends Model {
    private val timer = mutable.Map.empty[TimeWindow, Long]
    override def onRow(row: Row, w: TimeWindow) = {
      val result = inner.onRow(row, w)
      if (result.fires) clear(w)
      else {
        if (reset) stop(w)
        if (!timer.contains(w)) {
          timer(w) = now + after
          clockTimers += ((timer(w), w))
        }
      }
      result
    }
    private def out(result: TriggerResult, w: TimeWindow) = {
      if (clears) clear(w)
      if (result.purges) FireAndPurge else Fire
    }
    override def onEventTime(time: Long, w: TimeWindow) = out(inner.onEventTime(time, w), w)
    override def onClock(time: Long, w: TimeWindow) = out(inner.onClock(time, w), w)
    private def stop(w: TimeWindow): Unit =
      timer.remove(w).foreach(time => clockTimers -= ((time, w)))
    override def clear(w: TimeWindow): Unit = { stop(w); inner.clear(w) }
  }
}

object ModelTriggers {

  /** The distance function of the generated triggers and evictors. */
  def delta(older: Row, newer: Row): Double = (newer.value.long - older.value.long).toDouble

  /** The predicate of the generated triggers and evictors. `size` is the number of rows in the
    * window.
    */
  def holds(row: Row, size: Int): Boolean = (row.value.long + size) % 3 != 0
}
