package transom.engine.keyed.keystate

import transom.engine.firing.TimedRows
import transom.engine.window.Arrival

/** Stores parts of the state of the current key as entries of their own, in numbered lists. So a
  * state of any size needs no large value, and a batch reads and writes only what it needs.
  */
trait Entries {

  /** The bytes of an entry. They are never changed. */
  def getBytes(list: Long, number: Long): Array[Byte]

  /** Writes an entry. The bytes must not change afterwards. */
  def putBytes(list: Long, number: Long, bytes: Array[Byte]): Unit

  def remove(list: Long, number: Long): Unit
}

/** Stores the raw rows of the current key in numbered lists.
  *
  * A list grows only at its end, so that adding a row touches no other row. The window state of
  * the key records which rows of a list are left (see `RowRuns`).
  */
trait Contents[R] extends Entries with TimedRows[R] {

  def put(list: Long, sequence: Long, row: R): Unit
  def get(list: Long, sequence: Long): R

  /** Time of a row in microseconds, or `Arrival.NoTime`. */
  override def timeOf(row: R): Long

  override final def hasTime(row: R): Boolean = timeOf(row) != Arrival.NoTime
}
