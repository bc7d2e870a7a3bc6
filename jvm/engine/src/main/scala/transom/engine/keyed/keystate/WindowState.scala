package transom.engine.keyed.keystate

import scala.collection.mutable.ArrayBuffer

import transom.engine.firing.TriggerMemory
import transom.engine.time.Timeline
import transom.engine.window.{Arrival, TimeWindow}

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

  /** The earliest and the latest time of the rows, or `Arrival.NoTime`. Set only if these times
    * are the bounds of the window and its raw rows are not kept.
    */
  private[keyed] var firstTime = Arrival.NoTime
  private[keyed] var lastTime = Arrival.NoTime

  private[keyed] def noteRow(time: Long): Unit = if (time != Arrival.NoTime) {
    if (firstTime == Arrival.NoTime || time < firstTime) firstTime = time
    if (lastTime == Arrival.NoTime || time > lastTime) lastTime = time
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
}

/** An emitted result and the bounds of its window at that time. */
private[keyed] final class EmittedResult(val bounds: TimeWindow, val result: Array[Byte])

/** The raw rows of a window in order of arrival, as ranges of row lists in `Contents`.
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
