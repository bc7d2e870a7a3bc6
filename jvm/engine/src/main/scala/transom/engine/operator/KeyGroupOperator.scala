package transom.engine.operator

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
  emissions.take()

  /** What became of the input rows. Complete once the iterator of `process` is exhausted. */
  final val counts: RowCounts = new RowCounts

  /** The watermark at which the key group has work to do even without events, in the host's
    * convention; `Long.MaxValue` if there is none.
    */
  def nextTimer: Long

  /** Handles a batch: the events in their order, then all work that is due.
    *
    * Everything happens as the iterator advances. At its end the state is written. Call `process`
    * once, and exhaust the iterator before another key group of the task is opened; otherwise
    * `IllegalStateException` is thrown. A result may be overwritten by the next one.
    *
    * @param events
    *   the events of the batch; the last one is a watermark
    */
  final def process(events: Iterator[Event]): Iterator[T] = {
    if (isUsed) throw new IllegalStateException("an operator processes one batch only")
    isUsed = true
    new Batch(events)
  }

  /** Handles an event. */
  protected def handle(event: Event): Unit

  /** Does all work that is due after the last event, as the iterator advances. */
  protected def advance(): Iterator[T]

  /** Writes the state. */
  protected def save(): Unit

  private final class Batch(events: Iterator[Event]) extends AbstractIterator[T] {
    private var last: Iterator[T] = _
    private var isOver = false

    override def hasNext: Boolean = {
      while (emissions.isEmpty && last == null)
        if (events.hasNext) handle(events.next()) else last = advance()
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

/** Opens the window operator of a task on one key group after the other.
  *
  * @tparam S
  *   the state of a key group
  * @tparam T
  *   an output row of the host
  */
trait WindowOperator[S, T] {

  /** Opens the operator on the state of a key group.
    *
    * @param group
    *   number of the key group
    * @param clock
    *   wall clock of the batch, microseconds since 1970
    */
  def open(group: Int, store: S, clock: Long): KeyGroupOperator[T]
}
