package transom.engine.sweep

import scala.collection.mutable.ArrayBuffer

import transom.engine.window.Arrival

/** The rows of a key that the sweep has not reached, by start and then by arrival. Not
  * thread-safe.
  */
private[sweep] final class PendingRows {
  // How many rows a new row is compared with before all rows are sorted.
  private final val Near = 16

  private val rows = ArrayBuffer.empty[LifetimeRow]
  private var taken = 0
  // How many rows are in order. The rows after them are sorted when the order matters.
  private var sorted = 0

  def isEmpty: Boolean = taken == rows.length

  def size: Int = rows.length - taken

  /** The start of the first row; `Arrival.NoEnd` if there is none. */
  def firstStart: Long = {
    sort()
    if (isEmpty) Arrival.NoEnd else rows(taken).start
  }

  /** Adds a row. A row that is nearly in order goes to its place at once. */
  def add(row: LifetimeRow): Unit = {
    var at = rows.length
    val isSorted = sorted == at
    if (isSorted) {
      val least = math.max(taken, at - Near)
      while (at > least && rows(at - 1).start > row.start) at -= 1
    }
    if (isSorted && (at == taken || rows(at - 1).start <= row.start)) {
      rows.insert(at, row)
      sorted += 1
    } else rows += row
  }

  /** Sorts all rows by start. Equal starts keep their order of arrival. */
  private def sort(): Unit = if (sorted < rows.length) {
    rows.remove(0, taken)
    taken = 0
    rows.sortInPlaceBy(_.start)
    sorted = rows.length
  }

  /** Removes and returns the first row. Requires that there is one. */
  def take(): LifetimeRow = {
    sort()
    val row = rows(taken)
    taken += 1
    if (2 * taken >= rows.length) {
      rows.remove(0, taken)
      taken = 0
      sorted = rows.length
    }
    row
  }

  /** Replaces a row by the same row with another end. */
  def replace(row: LifetimeRow, other: LifetimeRow): Unit = rows(positionOf(row)) = other

  def remove(row: LifetimeRow): Unit = {
    rows.remove(positionOf(row))
    sorted = rows.length
  }

  private def positionOf(row: LifetimeRow): Int = {
    sort()
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
    sorted = 0
  }

  def iterator: Iterator[LifetimeRow] = {
    sort()
    rows.iterator.drop(taken)
  }
}
