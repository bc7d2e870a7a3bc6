package transom.engine.conformance.driver

import scala.collection.mutable

import transom.engine.keyed.contract.RowStore
import transom.engine.window.RowContext

/** Stores the raw rows of one key in memory. */
final class RowsInMemory extends RowStore[Row] {
  private val rows = mutable.HashMap.empty[(Long, Long), Row]

  override def put(list: Long, sequence: Long, row: Row): Unit = rows((list, sequence)) = row
  override def get(list: Long, sequence: Long): Row = rows((list, sequence))
  override def getBytes(list: Long, number: Long): Array[Byte] =
    throw new UnsupportedOperationException
  override def putBytes(list: Long, number: Long, bytes: Array[Byte]): Unit =
    throw new UnsupportedOperationException
  override def remove(list: Long, sequence: Long): Unit = rows.remove((list, sequence)): Unit
  override def timeOf(row: Row): Long = row.time.getOrElse(RowContext.NoTime)

  def size: Int = rows.size
}
