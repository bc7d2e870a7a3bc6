package transom.engine.keyed

import scala.collection.mutable

/** Where the raw rows of the key at hand live: lists that only grow at their end, so that a row
  * that comes touches no other. What is left of a list is noted in the key's state.
  */
trait Contents[R] {

  def put(list: Long, sequence: Long, row: R): Unit
  def get(list: Long, sequence: Long): R
  def remove(list: Long, sequence: Long): Unit

  /** The row's time in force, or `Arrival.NoTime`. */
  def timeOf(row: R): Long
}

/** Contents that last as long as one query over a static DataFrame, or one test. */
abstract class MemoryContents[R] extends Contents[R] {
  private val rows = mutable.HashMap.empty[(Long, Long), R]

  override def put(list: Long, sequence: Long, row: R): Unit = rows((list, sequence)) = row
  override def get(list: Long, sequence: Long): R = rows((list, sequence))
  override def remove(list: Long, sequence: Long): Unit = rows.remove((list, sequence))

  /** How many rows are held. */
  def size: Int = rows.size
}
