package transom.engine.keyed.contract

import scala.collection.mutable

import transom.engine.runtime.Pulled
import transom.engine.time.Timeline
import transom.engine.window.{MissedWindows, RowContext, RowOutcome}

/** Window operator of the keyed layout, for one key at a time.
  *
  * The operator keeps no state of a key between calls. The caller passes the state of the key to
  * each call. Before each call, the caller points the operator's rows and `Results` at the same
  * key.
  *
  * A call returns its results, see [[transom.engine.runtime.Pulled]]. The work is done as the
  * caller reads them. Exhaust them before the next call, and before rows and `Results` point at
  * another key.
  *
  * `process` of a single row is complete: a host may call it row by row, without batches. That
  * late rows of sessions are tried again at the end of a batch (`retry`) is a rule of hosts with
  * batches. Other hosts ignore `retry`, `resume` and `endBatch`.
  *
  * Times are microseconds since the epoch. A watermark W means that no more rows with a time
  * before W arrive. Windows end, and timers are due, at the first watermark or wall-clock time
  * that is not below their own time.
  *
  * @tparam S
  *   the state of a key
  * @tparam T
  *   an output row of the host
  */
trait PerKeyOperator[R, S <: PerKeyState, T] {

  /** Adds a row to its windows. Windows that are over do not get the row. See `outcome` and
    * `missedWindows`.
    *
    * Requires that the key has advanced to the watermark and wall-clock time of the row's
    * arrival. The row must stay valid until the results are exhausted.
    */
  def process(state: S, row: R, context: RowContext): Iterator[T]

  /** What has become of the last processed row. Valid once its results are exhausted, and until
    * the next call of `process`.
    */
  def outcome: RowOutcome

  /** The windows that were closed when the last processed row arrived. Bounds are instants. Valid
    * until the next call of `process`.
    */
  def missedWindows: MissedWindows

  /** The latest end of the windows that the last processed row has missed. */
  def lastMissedEnd: Long = missedWindows.listed.last.end

  /** How the last processed row is tried again after all other rows of the batch, because a row
    * of the batch may open a window that accepts it. Null if the row is not tried again.
    */
  def retry(outcome: RowOutcome): Retry =
    if (outcome == RowOutcome.Late) new Retry(lastMissedEnd) else null

  /** Announces that the next processed row is tried again. */
  def resume(retry: Retry): Unit = ()

  /** Advances the key to a watermark and a wall-clock time. Returns the results that are due, and
    * removes windows that are over.
    *
    * @param watermarkByRows
    *   the watermark that the idle timeout has not moved
    */
  def advance(
      state: S,
      watermark: Long,
      clock: Long,
      watermarkByRows: Long = Long.MaxValue): Iterator[T]

  /** Number of results that the windows of all keys have emitted so far. */
  def fired: Long

  /** Notes when the first and the last open window of a key close, by their start. Does nothing
    * if the starts depend on the rows.
    */
  def noteOpen(state: S, closings: mutable.Map[Long, Long]): Unit = ()

  /** Whether `endBatch` can return results. */
  def seesBatches: Boolean = false

  /** Signals the end of a micro-batch. */
  def endBatch(state: S, watermark: Long, clock: Long): Iterator[T] = Pulled.none
}

/** How a late row is tried again.
  *
  * @param end
  *   the end of the row's window; rows with later ends are tried first
  */
class Retry(val end: Long)

/** Creates the operators of keys, and encodes the states of keys. */
trait PerKeyOperators[R, S <: PerKeyState, T] {
  def codec: PerKeyCodec[S]

  /** The kind of time by which the windows end. */
  def timeline: Timeline

  /** The number of bytes by which a row may enlarge the state of its key, besides `heldBytes`. */
  def weightOf(row: R): Int

  /** Returns the operator of a key group.
    *
    * @param firstRow
    *   wall-clock time at the first row of the key group, microseconds since 1970
    */
  def of(group: Int, firstRow: => Long): PerKeyOperator[R, S, T]
}

/** State of one key. Its operator changes the state in place. Not thread-safe. */
trait PerKeyState {

  /** Lowest watermark at which the key must be advanced; `Long.MaxValue` if there is none. */
  def nextTimer: Long

  /** Lowest wall-clock time at which the key must be advanced; `Long.MaxValue` if there is none.
    */
  def nextClockTimer: Long

  /** Whether the key has no state to store. */
  def isEmpty: Boolean

  /** Estimated number of bytes that the state holds in memory, without accumulators of windows
    * and the bytes that the state was decoded from.
    */
  def heldBytes: Long

  /** Number of rows that wait for the row with their end. */
  def openRows: Int = 0
}

/** Encodes and decodes the states of keys. Holds a mutable buffer: create one codec per task.
  *
  * A state may keep parts in [[Entries]]. `encode` writes those that have changed. So point the
  * entries at the key before each call.
  */
trait PerKeyCodec[S <: PerKeyState] {

  /** Returns the state of a key that has none so far. */
  def create(): S

  def encode(state: S): Array[Byte]

  /** Removes the entries of a state that is removed. */
  def removeEntries(state: S): Unit = ()

  /** Decodes a state. The state refers to `bytes`, so the array must not change. */
  def decode(bytes: Array[Byte]): S
}
