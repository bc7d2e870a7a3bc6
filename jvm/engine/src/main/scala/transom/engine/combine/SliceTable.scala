package transom.engine.combine

import transom.engine.state.ByteRange

/** A hash table that aggregates the rows of one slice on the map side. It has one record per key.
  *
  * @param usage
  *   counts the bytes of the table
  */
final class SliceTable(usage: MemoryUsage) extends KeyTable(usage) {

  /** Finds the accumulator of a key. A new key gets a copy of `fresh`.
    *
    * @return
    *   offset of the accumulator in `array`
    */
  def locate(key: ByteRange, fresh: Array[Byte]): Int = find(key, fresh)

  override protected def write(at: Int, encode: ByteRange => ByteRange): Unit = {
    val hash = read(at)
    writer.append(hash, key, encode(accumulator))
  }

  override protected def nextRecord(at: Int): Int = KeyTable.NoRecord
}
