package transom.engine.sweep

import scala.collection.mutable.ArrayBuffer

import transom.engine.window.Arrival

/** The rows of a key that the sweep has not reached, by start and then by arrival. Not
  * thread-safe.
  */
private[sweep] final class PendingRows {
  private val rows = ArrayBuffer.empty[LifetimeRow]
  private var taken = 0

  def isEmpty: Boolean = taken == rows.length

  def size: Int = rows.length - taken

  /** The start of the first row; `Arrival.NoEnd` if there is none. */
  def firstStart: Long = if (isEmpty) Arrival.NoEnd else rows(taken).start

  /** Adds a row. Most rows come in order, so the search starts at the end. */
  def add(row: LifetimeRow): Unit = {
    var at = rows.length
    while (at > taken && rows(at - 1).start > row.start) at -= 1
    rows.insert(at, row)
  }

  /** Removes and returns the first row. Requires that there is one. */
  def take(): LifetimeRow = {
    val row = rows(taken)
    taken += 1
    if (2 * taken >= rows.length) {
      rows.remove(0, taken)
      taken = 0
    }
    row
  }

  /** Replaces a row by the same row with another end. */
  def replace(row: LifetimeRow, other: LifetimeRow): Unit = rows(positionOf(row)) = other

  def remove(row: LifetimeRow): Unit = rows.remove(positionOf(row)): Unit

  private def positionOf(row: LifetimeRow): Int = {
    var from = taken
    var until = rows.length
    while (from < until) {
      val middle = (from + until) >>> 1
      if (rows(middle).start < row.start) from = middle + 1 else until = middle
    }
    while (rows(from) ne row) from += 1
    from
  }

  def clear(): Unit = {
    rows.clear()
    taken = 0
  }

  def iterator: Iterator[LifetimeRow] = rows.iterator.drop(taken)
}
