package transom.benchmarks

import transom.engine.state.{ByteRange, KeyGroups, SegmentWriter}

/** Builds segments as the map side sends them: one record per key, sorted. */
object Segments {
  val Keys = 2000

  def of(append: (SegmentWriter, Long, ByteRange) => Unit): Array[Byte] = {
    val writer = new SegmentWriter
    (0L until Keys.toLong)
      .map(range)
      .map(key => (KeyGroups.hash(key.bytes), key))
      .sortBy(_._1)
      .foreach { case (hash, key) => append(writer, hash, key) }
    writer.take()
  }

  def range(number: Long): ByteRange = {
    val bytes = new Array[Byte](8)
    SumMerger.view(bytes).putLong(0, number)
    new ByteRange().set(bytes, 0, 8)
  }
}
