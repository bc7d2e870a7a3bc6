package transom.engine.keyed

import scala.collection.AbstractIterator

/** Work in steps, each of which emits at most one result.
  *
  * An operator returns its work as a lazy iterator, and the caller reads the result of a step
  * before the next step. So the work is never ahead of its reader. The caller exhausts the steps
  * before it calls the operator again.
  */
object Steps {

  /** No work. Compare with `eq`: most rows fire no window. */
  val None: Iterator[Unit] = Iterator.empty

  /** A single step. */
  def one(step: => Unit): Iterator[Unit] = new AbstractIterator[Unit] {
    private var isDone = false
    override def hasNext: Boolean = !isDone
    override def next(): Unit = {
      isDone = true
      step
    }
  }

  /** `first`, and then what `next` returns. `next` runs at once if there is no first step. */
  def andThen(first: Iterator[Unit])(next: => Iterator[Unit]): Iterator[Unit] =
    if (first eq None) next else first ++ next

  /** `first`, and then an action that emits nothing. */
  def andDo(first: Iterator[Unit])(action: => Unit): Iterator[Unit] =
    andThen(first) {
      action
      None
    }
}

/** A loop whose turns are steps. A turn may return further steps, which run before the next turn.
  */
abstract class StepLoop extends AbstractIterator[Unit] {
  private var inner = Steps.None
  private var isOver = false

  /** Whether there is another turn. Called after all steps of the turn before. */
  protected def continues: Boolean

  protected def turn(): Iterator[Unit]

  /** Called once, after the last turn. Emits nothing. */
  protected def finish(): Unit = ()

  final override def hasNext: Boolean =
    inner.hasNext || !isOver && (continues || {
      isOver = true
      finish()
      false
    })

  final override def next(): Unit = if (inner.hasNext) inner.next() else inner = turn()
}
