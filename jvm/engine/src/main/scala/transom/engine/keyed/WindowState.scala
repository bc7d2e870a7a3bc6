package transom.engine.keyed

import scala.collection.mutable.ArrayBuffer

import transom.engine.TimeWindow

/** What a key keeps for one window until the window is cleaned up.
  *
  * @param bounds
  *   in the time of its assigner: grid time, instants or row numbers
  */
final class WindowState[A <: AnyRef](val bounds: TimeWindow) {

  /** The accumulator of its rows, null if there is none. See `accumulatorBy`. */
  private[keyed] var accumulator: A = _

  /** The accumulator as it was read, as long as no one has asked for it. */
  private[keyed] var encoded: Array[Byte] = _
  private[keyed] var encodedFrom = 0
  private[keyed] var encodedLength = 0

  /** Which of its raw rows are left. */
  private[keyed] var rows: RowRuns = _

  /** What its triggers remember, in slots; null while that is nothing. */
  private[keyed] var memory: Array[Long] = _

  private[keyed] val watermarkTimers = new Timers
  private[keyed] val clockTimers = new Timers

  /** Whether the trigger has removed its timer at the cleanup of the window. The cleanup then
    * calls no trigger. The next row sets the timer again, for trigger and cleanup alike.
    */
  private[keyed] var endsSilently = false

  /** How many results it has given; counted only if results say so. */
  private[keyed] var firings = 0

  /** Results that hold until they are taken back. */
  private[keyed] var lastEmitted: List[EmittedResult] = Nil

  private[keyed] var userState: Array[Byte] = _

  private[keyed] def timers(timeline: Timeline): Timers =
    if (timeline == Timeline.Clock) clockTimers else watermarkTimers

  private[keyed] def hasAccumulator: Boolean = accumulator != null || encoded != null

  /** Decodes the accumulator on first use: most windows of a key are not touched in a batch. */
  private[keyed] def accumulatorBy(aggregation: WindowAggregation[_, A]): A = {
    if (accumulator == null && encoded != null) {
      accumulator = aggregation.decode(encoded, encodedFrom, encodedLength)
      encoded = null
    }
    accumulator
  }

  private[keyed] def setAccumulator(some: A): Unit = {
    accumulator = some
    encoded = null
  }

  /** Whether nothing would be lost with it. */
  private[keyed] def isIdle: Boolean =
    watermarkTimers.isEmpty && clockTimers.isEmpty && !hasAccumulator &&
      (rows == null || rows.isEmpty) && firings == 0 && lastEmitted.isEmpty && userState == null &&
      remembersNothing

  private[keyed] def remembersNothing: Boolean = {
    var i = 0
    while (memory != null && i < memory.length && memory(i) == WindowState.Unset) i += 1
    memory == null || i == memory.length
  }
}

object WindowState {

  /** A slot of a trigger's memory that holds nothing. */
  final val Unset = Long.MinValue
}

/** A result that was sent for a window of these bounds. */
private[keyed] final case class EmittedResult(bounds: TimeWindow, result: Array[Byte])

/** Rows in lists of `Contents`, in the order of their arrival: runs of neighbours that are still
  * there. A window has a list of its own; sessions that merge bring theirs along.
  *
  * @param list
  *   the list that new rows are added to
  */
private[keyed] final class RowRuns(val list: Long) {
  val runs = ArrayBuffer.empty[RowRuns.Run]

  /** Where the next row of `list` goes. */
  var next = 0L

  def isEmpty: Boolean = runs.isEmpty

  def size: Int = runs.iterator.map(run => (run.until - run.from).toInt).sum

  /** The place of a new row. */
  def grow(): Long = {
    val place = next
    next += 1
    if (runs.nonEmpty && runs.last.list == list && runs.last.until == place) {
      runs.last.until = next
    } else runs += new RowRuns.Run(list, place, next)
    place
  }

  def places: Iterator[(Long, Long)] =
    runs.iterator.flatMap(run => (run.from until run.until).iterator.map((run.list, _)))

  /** Takes the rows of a window that is merged into this one. */
  def join(other: RowRuns): Unit = runs ++= other.runs

  /** Keeps the rows that `keep` says, by their position. */
  def retain(keep: Int => Boolean): Unit = {
    val kept = places.zipWithIndex.collect { case (place, i) if keep(i) => place }.toVector
    runs.clear()
    kept.foreach { case (list, place) =>
      if (runs.nonEmpty && runs.last.list == list && runs.last.until == place) {
        runs.last.until = place + 1
      } else runs += new RowRuns.Run(list, place, place + 1)
    }
  }
}

private[keyed] object RowRuns {
  final class Run(val list: Long, val from: Long, var until: Long)
}
