package transom.engine.keyed.keystate

import java.util.{Arrays, Comparator, TreeMap}

import scala.collection.mutable.ArrayBuffer

import transom.engine.firing.TriggerMemory
import transom.engine.keyed.contract.{PerKeyState, WindowAggregation}
import transom.engine.time.Timeline
import transom.engine.window.{RowContext, TimeWindow}

/** State of one key: its windows and their timers.
  *
  * The operator changes the state in place. Times are microseconds. Not thread-safe.
  */
final class KeyState[A <: AnyRef] extends PerKeyState {

  /** Open windows, sorted by start and then by end. Merging windows do not intersect, so they are
    * in order of time.
    */
  private[keyed] val windows = new TreeMap[TimeWindow, WindowState[A]](KeyState.ByBounds)

  /** The window of the previous row, cached because the next row mostly belongs to the same
    * window.
    */
  private[keyed] var latest: WindowState[A] = _

  /** Number for the next row list. */
  private[keyed] var nextList = 0L

  /** Number of rows so far; counted only for count windows. */
  private[keyed] var rowCount = 0L

  /** Watermark and wall-clock time to which the key has advanced. Timers that a row sets in the
    * past run only after the time has moved on. Results then do not depend on how rows are split
    * into batches.
    */
  private[keyed] var watermark = Long.MinValue
  private[keyed] var clock = Long.MinValue

  /** Lower bounds of the key's timers. Removing a timer does not raise its bound. The bound is
    * refreshed when it is reached.
    */
  private[keyed] var watermarkBound = Long.MaxValue
  private[keyed] var clockBound = Long.MaxValue

  override def nextTimer: Long = KeyState.nextTimer(watermarkBound, watermark)

  override def nextClockTimer: Long = KeyState.nextTimer(clockBound, clock)

  override def isEmpty: Boolean = windows.isEmpty && rowCount == 0

  /** Number of open windows. */
  def size: Int = windows.size

  override def heldBytes: Long = KeyState.WindowWeight * windows.size

  private[keyed] def add(window: WindowState[A]): Unit = {
    windows.put(window.bounds, window)
    latest = window
  }

  private[keyed] def remove(window: WindowState[A]): Unit = {
    windows.remove(window.bounds)
    if (latest eq window) latest = null
  }

  private[keyed] def noteTimer(timeline: Timeline, timer: Long): Unit =
    if (timeline == Timeline.Clock) clockBound = math.min(clockBound, timer)
    else watermarkBound = math.min(watermarkBound, timer)

  /** Recomputes the lower bound of the timers on a timeline from the timers of all windows. */
  private[keyed] def refreshBound(timeline: Timeline): Unit = {
    var first = Long.MaxValue
    windows.values.forEach(window => first = math.min(first, window.timers(timeline).first))
    if (timeline == Timeline.Clock) clockBound = first else watermarkBound = first
  }
}

object KeyState {

  // Estimated heap size of the objects of a window, in bytes.
  private final val WindowWeight = 200L

  private def nextTimer(bound: Long, now: Long): Long =
    if (now == Long.MaxValue) Long.MaxValue else math.max(bound, now + 1)

  /** Orders windows by start and then by end. */
  val ByBounds: Comparator[TimeWindow] = (a, b) => {
    val order = java.lang.Long.compare(a.start, b.start)
    if (order != 0) order else java.lang.Long.compare(a.end, b.end)
  }
}

/** State of one window of a key, kept until the window is cleaned up.
  *
  * @param bounds
  *   in the unit of the assigner: grid time, instants in microseconds, or row numbers
  */
final class WindowState[A <: AnyRef](val bounds: TimeWindow) {

  /** Accumulator of the rows; null if there is none or the accumulator is still encoded. Read the
    * accumulator with `accumulatorBy`.
    */
  private[keyed] var accumulator: A = _

  /** Encoded accumulator, before its first use: a range of the array that the state was decoded
    * from. Null after the first use.
    */
  private[keyed] var encoded: Array[Byte] = _
  private[keyed] var encodedFrom = 0
  private[keyed] var encodedLength = 0

  /** The raw rows of the window; null if the window never had any. */
  private[keyed] var rows: RowRuns = _

  /** Memory slots of the triggers; null while all of them are unset. */
  private[keyed] var memory: Array[Long] = _

  private[keyed] val watermarkTimers = new Timers
  private[keyed] val clockTimers = new Timers

  /** Whether the trigger has removed its timer at the cleanup time. The cleanup then does not
    * call the trigger. The next row sets the timer again, for both trigger and cleanup.
    */
  private[keyed] var endsSilently = false

  /** Number of firings so far; counted only if `KeyedPlan.countsPanes`. */
  private[keyed] var firings = 0

  /** Emitted results to retract at the next change; several after a merge of sessions. */
  private[keyed] var lastEmitted: List[EmittedResult] = Nil

  /** The earliest and the latest time of the rows, or `RowContext.NoTime`. Set only if these
    * times are the bounds of the window and its raw rows are not kept.
    */
  private[keyed] var firstTime = RowContext.NoTime
  private[keyed] var lastTime = RowContext.NoTime

  private[keyed] def noteRow(time: Long): Unit = if (time != RowContext.NoTime) {
    if (firstTime == RowContext.NoTime || time < firstTime) firstTime = time
    if (lastTime == RowContext.NoTime || time > lastTime) lastTime = time
  }

  private[keyed] def timers(timeline: Timeline): Timers =
    if (timeline == Timeline.Clock) clockTimers else watermarkTimers

  private[keyed] def hasAccumulator: Boolean = accumulator != null || encoded != null

  /** Returns the accumulator, or null if there is none. Decodes on first use, because a batch
    * touches few windows of a key.
    */
  private[keyed] def accumulatorBy(aggregation: WindowAggregation[_, A]): A = {
    if (accumulator == null && encoded != null) {
      accumulator = aggregation.decode(encoded, encodedFrom, encodedLength)
      encoded = null
    }
    accumulator
  }

  private[keyed] def setAccumulator(value: A): Unit = {
    accumulator = value
    encoded = null
  }

  /** Whether the window holds no timers, contents or memory, so that it can be removed. */
  private[keyed] def isIdle: Boolean =
    watermarkTimers.isEmpty && clockTimers.isEmpty && !hasAccumulator &&
      (rows == null || rows.isEmpty) && firings == 0 && lastEmitted.isEmpty && remembersNothing

  private[keyed] def remembersNothing: Boolean = {
    var i = 0
    while (memory != null && i < memory.length && memory(i) == TriggerMemory.Unset) i += 1
    memory == null || i == memory.length
  }

  /** The value of a memory slot, or `TriggerMemory.Unset`. */
  private[keyed] def remembered(slot: Int): Long =
    if (memory == null) TriggerMemory.Unset else memory(slot)
}

/** An emitted result and the bounds of its window at that time. */
private[keyed] final class EmittedResult(val bounds: TimeWindow, val result: Array[Byte])

/** The raw rows of a window in order of arrival, as ranges of row lists in `RowStore`.
  *
  * Each window has a row list of its own. A merged session also refers to the row lists of its
  * source windows.
  *
  * @param list
  *   row list to which new rows are appended
  */
private[keyed] final class RowRuns(val list: Long) {
  val runs = ArrayBuffer.empty[RowRuns.Run]

  /** Position of the next row in `list`. */
  var next = 0L

  def isEmpty: Boolean = runs.isEmpty

  def size: Int = runs.iterator.map(run => (run.until - run.from).toInt).sum

  /** Reserves and returns the position in `list` for a new row. */
  def grow(): Long = {
    val position = next
    next += 1
    if (runs.nonEmpty && runs.last.list == list && runs.last.until == position) {
      runs.last.until = next
    } else runs += new RowRuns.Run(list, position, next)
    position
  }

  /** List and position of each row, in order. */
  def positions: Iterator[(Long, Long)] =
    runs.iterator.flatMap(run => (run.from until run.until).iterator.map((run.list, _)))

  /** Appends the rows of a window that is merged into this one. */
  def join(other: RowRuns): Unit = runs ++= other.runs

  /** Keeps the rows whose index in `positions` satisfies `keep`. */
  def retain(keep: Int => Boolean): Unit = {
    val kept =
      positions.zipWithIndex.filter { case (_, i) => keep(i) }.map(_._1).toVector
    runs.clear()
    kept.foreach { case (list, position) =>
      if (runs.nonEmpty && runs.last.list == list && runs.last.until == position) {
        runs.last.until = position + 1
      } else runs += new RowRuns.Run(list, position, position + 1)
    }
  }
}

private[keyed] object RowRuns {

  /** Neighbouring rows of one list: positions from `from` up to but not including `until`. */
  final class Run(val list: Long, val from: Long, var until: Long)
}

/** Timers of a window on one timeline: a set of times in ascending order.
  *
  * A window mostly has one timer, so the earliest one is a field. Only further timers need an
  * array.
  */
final class Timers {
  private var earliest = Long.MaxValue
  private var later = Array.emptyLongArray
  private var count = 0

  def size: Int = count

  def apply(i: Int): Long = if (i == 0) earliest else later(i - 1)

  def isEmpty: Boolean = count == 0

  /** The earliest timer; `Long.MaxValue` if there is none. */
  def first: Long = earliest

  /** Adds a timer. Adding an existing timer has no effect (flink.md 3.1). */
  def add(timer: Long): Unit =
    if (count == 0) {
      earliest = timer
      count = 1
    } else if (timer < earliest) {
      insert(earliest)
      earliest = timer
    } else if (timer > earliest) insert(timer)

  def remove(timer: Long): Unit =
    if (count > 0 && timer == earliest) {
      earliest = if (count > 1) later(0) else Long.MaxValue
      removeLater(0)
    } else {
      var i = 0
      while (i < count - 1 && later(i) != timer) i += 1
      if (i < count - 1) removeLater(i)
    }

  /** Adds a timer to `later`. */
  private def insert(timer: Long): Unit = {
    val length = count - 1
    var i = length
    while (i > 0 && later(i - 1) > timer) i -= 1
    if (i == 0 || later(i - 1) != timer) {
      if (length == later.length) later = Arrays.copyOf(later, math.max(2, 2 * length))
      System.arraycopy(later, i, later, i + 1, length - i)
      later(i) = timer
      count += 1
    }
  }

  /** Removes a timer, and from `later` the one at `i`, if there is one. */
  private def removeLater(i: Int): Unit = {
    count -= 1
    if (i < count) System.arraycopy(later, i + 1, later, i, count - i - 1)
  }
}
