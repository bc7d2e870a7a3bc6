package transom.engine.log

/** The records of one slice while rows are folded into them: one a key. */
final class SliceTable(usage: MemoryUsage) extends KeyTable(usage) {

  /** Where the accumulator of a key lies; that of a new key is a copy of `fresh`. */
  def locate(key: ByteRange, fresh: Array[Byte]): Int = find(key, fresh)

  override protected def write(at: Int, encode: ByteRange => ByteRange): Unit = {
    val hash = read(at)
    writer.append(hash, key, encode(accumulator))
  }

  override protected def behind(at: Int): Int = KeyTable.NoRecord
}
