package transom.engine.runtime

import scala.collection.AbstractIterator

/** Results that are computed as they are read.
  *
  * An operator returns its results as a lazy iterator. It does the work before a result when the
  * reader looks for the result, and builds the result when the reader takes it. So the work is
  * never ahead of its reader, and at most one result exists. The reader exhausts the iterator
  * before it calls the operator again.
  */
object Pulled {

  /** No results, and no work. Compare with `eq`: most rows fire no window. */
  val none: Iterator[Nothing] = Iterator.empty

  /** A single result. */
  def one[T](result: => T): Iterator[T] = new OneResult(result)

  /** `first`, and then what `next` returns. `next` runs at once if `first` is `none`. */
  def andThen[T](first: Iterator[T])(next: => Iterator[T]): Iterator[T] =
    if (first eq none) next else first ++ next

  /** `first`, and then an action without results. */
  def andDo[T](first: Iterator[T])(action: => Unit): Iterator[T] =
    andThen(first) {
      action
      none
    }
}

/** The results of a loop. A turn runs after all results of the turn before have been read. */
abstract class PulledLoop[T] extends AbstractIterator[T] {
  private var ofTurn: Iterator[T] = Pulled.none
  private var isOver = false

  /** Whether there is another turn. Called after all results of the turn before. */
  protected def continues: Boolean

  protected def turn(): Iterator[T]

  /** Called once, after the last turn. */
  protected def finish(): Unit = ()

  final override def hasNext: Boolean = {
    while (!isOver && !ofTurn.hasNext)
      if (continues) ofTurn = turn()
      else {
        isOver = true
        finish()
      }
    !isOver
  }

  final override def next(): T = if (hasNext) ofTurn.next() else Pulled.none.next()
}

/** A single result. An operator with a result for each row may use one instance for all rows.
  *
  * @param build
  *   builds the result when it is read
  */
final class OneResult[T](build: => T) extends AbstractIterator[T] {
  private var isRead = false

  /** Starts again. Requires that the result has been read. */
  def again(): this.type = {
    isRead = false
    this
  }

  override def hasNext: Boolean = !isRead

  override def next(): T =
    if (isRead) Pulled.none.next()
    else {
      isRead = true
      build
    }
}
