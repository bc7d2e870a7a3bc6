package transom.engine.runtime

import scala.collection.{mutable, AbstractIterator}

/** The queue of rows that the key groups of a task emit. One key group at a time may use the
  * queue and the other buffers that the key groups share.
  */
final class Emissions[T] {
  private val queue = mutable.Queue.empty[T]
  private var isAcquired = false

  /** Emits a row. It must stay valid until the queue is empty. */
  def emit(row: T): Unit = queue += row

  def isEmpty: Boolean = queue.isEmpty

  /** Removes the oldest row. Requires that `isEmpty` is false. */
  def next(): T = queue.dequeue()

  /** Returns the rows that `steps` emit. A step runs only after all earlier rows have been read.
    */
  def of(steps: Iterator[Unit]): Iterator[T] = new AbstractIterator[T] {
    override def hasNext: Boolean = {
      while (queue.isEmpty && steps.hasNext) steps.next()
      queue.nonEmpty
    }
    override def next(): T = queue.dequeue()
  }

  private[runtime] def acquire(): Unit = {
    if (isAcquired)
      throw new IllegalStateException(
        "a key group still has unread results: read all of them before opening the next key group")
    isAcquired = true
  }

  private[runtime] def release(): Unit = isAcquired = false
}
