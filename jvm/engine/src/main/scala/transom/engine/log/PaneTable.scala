package transom.engine.log

/** The records of one pane while rows are folded into them: one a key. */
final class PaneTable(taken: Taken) extends KeyTable(taken) {

  /** Where the accumulator of a key lies; that of a new key is a copy of `fresh`. */
  def locate(key: Slice, fresh: Array[Byte]): Int = find(key, fresh)

  override protected def write(at: Int, written: Slice => Slice): Unit = {
    val hash = read(at)
    writer.append(hash, key, written(accumulator))
  }

  override protected def behind(at: Int): Int = KeyTable.NoRecord
}
