package transom.engine.keyed

import transom.engine.keyed.state.{Contents, KeyState}
import transom.engine.window.{Arrival, Disposition, TimeWindow}

/** Window operator of the keyed layout, for one key at a time.
  *
  * The operator keeps no state of a key between calls. The caller passes the `KeyState` of the
  * key to each call. Before each call, the caller points the operator's `rows` and `results` at
  * the same key.
  *
  * Times are microseconds since the epoch. A watermark W means that no more rows with a time
  * before W arrive. Windows end, and timers are due, at the first watermark or wall-clock time
  * that is not below their own time.
  */
trait PerKeyOperator[R, A <: AnyRef] {

  def plan: KeyedPlan[R, A]

  /** Adds a row to its windows.
    *
    * First advances the key to the watermark and wall-clock time of the row's arrival. Windows
    * that are over do not get the row. See `missedWindows`.
    */
  def process(state: KeyState[A], row: R, arrival: Arrival): Disposition

  /** The windows that were closed when the last processed row arrived. Bounds are instants. Valid
    * until the next call of `process`.
    */
  def missedWindows: Seq[TimeWindow]

  /** Advances the key to a watermark and a wall-clock time. Emits the results that are due, and
    * removes windows that are over.
    */
  def advance(state: KeyState[A], watermark: Long, clock: Long): Unit

  /** Number of results that the windows of all keys have emitted so far. */
  def fired: Long

  /** Whether `endBatch` can emit results. */
  def seesBatches: Boolean = false

  /** Signals the end of a micro-batch. */
  def endBatch(state: KeyState[A], watermark: Long, clock: Long): Unit = ()
}

/** Creates the operators of a key. */
object PerKeyOperator {

  /** Returns the operator of a plan.
    *
    * @param rows
    *   stores the raw rows of the current key
    * @param results
    *   receives the results of the current key
    */
  def of[R, A <: AnyRef](
      plan: KeyedPlan[R, A],
      rows: Contents[R],
      results: Results[R, A]): PerKeyOperator[R, A] = plan.assigner.checks match {
    case Some(checks) => new CheckedSessionOperator(plan, checks, rows, results)
    case None => new KeyedOperator(plan, rows, results)
  }
}
