package transom.engine.keyed.state

/** Stores the raw rows of the current key in numbered lists.
  *
  * A list grows only at its end, so that adding a row touches no other row. The window state of
  * the key records which rows of a list are left (see `RowRuns`).
  */
trait Contents[R] {

  def put(list: Long, sequence: Long, row: R): Unit
  def get(list: Long, sequence: Long): R
  def remove(list: Long, sequence: Long): Unit

  /** Time of a row in microseconds, or `Arrival.NoTime`. */
  def timeOf(row: R): Long
}
