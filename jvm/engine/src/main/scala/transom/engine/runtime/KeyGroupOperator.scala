package transom.engine.runtime

import scala.collection.AbstractIterator

/** The window operator of one key group in one batch.
  *
  * A subclass implements the rules of a state layout. Spark, the runner of static DataFrames and
  * the conformance runner use all layouts through this class.
  *
  * @param emissions
  *   the queue that this key group shares with the other key groups of its task
  */
abstract class KeyGroupOperator[T](emissions: Emissions[T]) {
  private var isUsed = false
  emissions.acquire()

  /** Counts the input rows by outcome. Complete once the iterator of `process` is exhausted. */
  final val counts: RowCounts = new RowCounts

  /** The metrics that are not sums. Complete once the iterator of `process` is exhausted. None if
    * the operator does not know them without reading more state.
    */
  def gauges: Option[Gauges] = None

  /** The watermark, in the host's convention, at which the key group has work to do even without
    * events. `Long.MaxValue` if there is none.
    */
  def nextTimer: Long

  /** Processes a batch: the events in their order, then all work that is due.
    *
    * The iterator works lazily, and writes the state at its end. A result is valid until the next
    * call of `next`.
    *
    * Call `process` once, and exhaust the iterator before opening another key group of the task.
    * Otherwise `IllegalStateException` is thrown.
    *
    * @param events
    *   the events of the batch; ticks and watermarks may come at any place among them
    */
  final def process(events: Iterator[Event]): Iterator[T] = {
    if (isUsed)
      throw new IllegalStateException(
        "process was called twice: open the key group again for each batch")
    isUsed = true
    new Batch(events)
  }

  /** Processes an event. Each of the returned steps may add a result to the queue of emissions.
    */
  protected def handle(event: Event): Iterator[Unit]

  /** Returns an iterator that does the work that is due after the last event. */
  protected def finish(): Iterator[T]

  /** Writes the state. */
  protected def save(): Unit

  private final class Batch(events: Iterator[Event]) extends AbstractIterator[T] {
    private var steps: Iterator[Unit] = Iterator.empty
    private var last: Iterator[T] = _
    private var isOver = false

    override def hasNext: Boolean = {
      while (emissions.isEmpty && last == null)
        if (steps.hasNext) steps.next()
        else if (events.hasNext) steps = handle(events.next())
        else last = finish()
      !emissions.isEmpty || last.hasNext || {
        close()
        false
      }
    }

    override def next(): T =
      if (!hasNext) throw new NoSuchElementException("no further result")
      else if (!emissions.isEmpty) emissions.next()
      else last.next()

    private def close(): Unit = if (!isOver) {
      isOver = true
      save()
      emissions.release()
    }
  }
}

/** The window operator of a task. It opens the key groups of the task one after another.
  *
  * @tparam S
  *   the state of a key group
  * @tparam T
  *   an output row of the host
  */
trait TaskOperator[S, T] {

  /** Opens the operator on the state of a key group.
    *
    * @param group
    *   id of the key group
    * @param clock
    *   wall-clock time of the batch, microseconds since 1970
    */
  def open(group: Int, store: S, clock: Long): KeyGroupOperator[T]
}
