package transom.engine.runtime

import scala.collection.AbstractIterator

/** The window operator of one key group in one batch.
  *
  * A subclass implements the rules of a state layout. Spark, the runner of static DataFrames and
  * the conformance runner use all layouts through this class.
  *
  * @param owner
  *   the operator of the task, which opens the key group
  */
abstract class KeyGroupOperator[T](owner: TaskOperator[_, T]) {
  private var isUsed = false
  owner.acquire()

  /** Counts the input rows by outcome. Complete once the iterator of `process` is exhausted. */
  final val counts: RowCounts = new RowCounts

  /** The metrics that are not sums. Complete once the iterator of `process` is exhausted. None if
    * the operator does not know them without reading more state.
    */
  def gauges: Option[Gauges] = None

  /** The watermark, in the host's convention, at which the key group has work to do even without
    * inputs. `Long.MaxValue` if there is none.
    */
  def nextTimer: Long

  /** Processes a batch: the inputs in their order, then all work that is due.
    *
    * The iterator works lazily, see [[Pulled]], and writes the state at its end. A result is
    * valid until the reader looks for the next one.
    *
    * Call `process` once, and exhaust the iterator before opening another key group of the task.
    * Otherwise `IllegalStateException` is thrown.
    *
    * @param inputs
    *   the inputs of the batch; ticks and watermarks may come at any place among them
    */
  final def process(inputs: Iterator[GroupInput]): Iterator[T] = {
    if (isUsed)
      throw new IllegalStateException(
        "process was called twice: open the key group again for each batch")
    isUsed = true
    new Batch(inputs)
  }

  /** Processes an input, and returns its results. */
  protected def handle(input: GroupInput): Iterator[T]

  /** Does the work that is due after the last input, and returns its results. */
  protected def finish(): Iterator[T]

  /** Writes the state. */
  protected def save(): Unit

  private final class Batch(inputs: Iterator[GroupInput]) extends AbstractIterator[T] {
    private var results: Iterator[T] = Pulled.none
    private var isFinished = false
    private var isRead = false

    override def hasNext: Boolean = {
      while (!isRead && !results.hasNext)
        if (inputs.hasNext) results = handle(inputs.next())
        else if (!isFinished) {
          isFinished = true
          results = finish()
        } else {
          isRead = true
          save()
          owner.release()
        }
      !isRead
    }

    override def next(): T = if (hasNext) results.next() else Pulled.none.next()
  }
}

/** The window operator of a task. It opens the key groups of the task one after another, because
  * they share its buffers.
  *
  * @tparam S
  *   the state of a key group
  * @tparam T
  *   an output row of the host
  */
trait TaskOperator[S, T] {
  private var isReading = false

  /** Opens the operator on the state of a key group.
    *
    * @param group
    *   id of the key group
    * @param clock
    *   wall-clock time of the batch, microseconds since 1970
    */
  def open(group: Int, store: S, clock: Long): KeyGroupOperator[T]

  private[runtime] def acquire(): Unit = {
    if (isReading)
      throw new IllegalStateException(
        "a key group still has unread results: read all of them before opening the next key group")
    isReading = true
  }

  private[runtime] def release(): Unit = isReading = false
}
