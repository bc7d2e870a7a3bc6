package transom.engine.operator

import scala.collection.{mutable, AbstractIterator}

/** The queue of what the key groups of a task emit. One key group at a time may use it, and with
  * it the other buffers that the key groups of a task share.
  */
final class Emissions[T] {
  private val queue = mutable.Queue.empty[T]
  private var isTaken = false

  /** Emits a row that stays valid. */
  def emit(row: T): Unit = queue += row

  def isEmpty: Boolean = queue.isEmpty

  /** Removes the oldest row. Requires that `isEmpty` is false. */
  def next(): T = queue.dequeue()

  /** The rows that some steps emit. A step runs only when all earlier rows have been read. */
  def of(steps: Iterator[Unit]): Iterator[T] = new AbstractIterator[T] {
    override def hasNext: Boolean = {
      while (queue.isEmpty && steps.hasNext) steps.next()
      queue.nonEmpty
    }
    override def next(): T = queue.dequeue()
  }

  private[operator] def take(): Unit = {
    if (isTaken)
      throw new IllegalStateException(
        "the results of a key group must be read to their end before the next one is opened")
    isTaken = true
  }

  private[operator] def release(): Unit = isTaken = false
}
