package transom.engine.keyed.contract

import transom.engine.firing.TimedRows
import transom.engine.state.ByteRange
import transom.engine.window.RowContext

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
trait RowStore[R] extends Entries with TimedRows[R] {

  def put(list: Long, sequence: Long, row: R): Unit
  def get(list: Long, sequence: Long): R

  /** Time of a row in microseconds, or `RowContext.NoTime`. */
  override def timeOf(row: R): Long

  override final def hasTime(row: R): Boolean = timeOf(row) != RowContext.NoTime
}

/** Converts the host's rows to bytes and back. The engine sees only the bytes. */
trait RowCodec[R] {

  /** Returns a row that shares `bytes`. The row is valid until the next call. */
  def view(bytes: ByteRange): R

  /** Returns a new row that shares the array. */
  def decode(bytes: Array[Byte], offset: Int, length: Int): R

  def encode(row: R): Array[Byte]

  /** Replaces the event time in the bytes of a row.
    *
    * @param time
    *   in the host's convention
    */
  def setTime(bytes: ByteRange, time: Long): Unit

  /** The event time of a row in the host's convention, or `RowContext.NoTime`. */
  def timeOf(row: R): Long

  /** The bytes that, with the key, identify the lifetime of a row. Starts and ends of the same
    * lifetime have equal bytes. Called only if the spec has edges.
    */
  def idOf(row: R): Array[Byte] =
    throw new UnsupportedOperationException("the rows have no lifetimes with an id")

  /** The number of the layout in which `encode` writes rows. A store keeps the number with the
    * bytes, because a later run may have another layout.
    */
  def layout: Int

  /** Returns the bytes of a row in the layout of this run.
    *
    * @param written
    *   the layout of the bytes, another one than that of this run
    */
  def converted(written: Int, bytes: Array[Byte], offset: Int, length: Int): Array[Byte]
}
