package transom.engine.state

/** How much memory the parts of a task may use, in bytes.
  *
  * When a part reaches its limit it writes to the state store, sends to the exchange or works in
  * smaller steps. Results never depend on a limit.
  *
  * @param combined
  *   accumulators that a map-side task holds
  * @param payload
  *   one row of the exchange; a map-side task holds one for each key group
  * @param keys
  *   keys that the keyed layout holds during a batch
  * @param segments
  *   segments that wait to be written to the state store
  * @param shared
  *   slices that overlapping windows merge in memory when they fire together
  * @param sessions
  *   sessions that have arrived, and sessions that one step of closing reads
  * @param bundle
  *   one entry of the state store that holds several segments
  * @param state
  *   state on the heap in Real-Time Mode
  */
final case class Limits(
    combined: Long,
    payload: Int,
    keys: Long,
    segments: Long,
    shared: Long,
    sessions: Long,
    bundle: Int,
    state: Long)

/** Derives limits. */
object Limits {

  /** The limits of a task that has its own part of 2 GB. */
  val Default: Limits = of(heap = 2L << 30, tasks = 1)

  /** The limits of each task of a JVM.
    *
    * @param heap
    *   largest size of the heap
    * @param tasks
    *   number of tasks that run at once
    */
  def of(heap: Long, tasks: Int): Limits = {
    def part(fraction: Int) =
      math.min(Most, math.max(Least, heap / math.max(1, tasks) / fraction))
    Limits(
      combined = part(32),
      // An exchange row costs nearly the same whatever its size, so it holds some hundred rows.
      payload = 48 << 10,
      keys = part(32),
      segments = part(64),
      shared = part(64),
      sessions = part(64),
      bundle = 32 << 10,
      state = math.max(Least, heap / math.max(1, tasks) / 4))
  }

  private final val Least = 1L << 20
  private final val Most = 256L << 20
}
