package transom.benchmarks

import transom.engine.KeyGroups
import transom.engine.log.{SegmentWriter, Slice}

/** Segments as a batch brings them: one record for each key, sorted. */
object Segments {
  val Keys = 2000

  def of(append: (SegmentWriter, Long, Slice) => Unit): Array[Byte] = {
    val writer = new SegmentWriter
    (0L until Keys.toLong)
      .map(slice)
      .map(key => (KeyGroups.hash(key.bytes), key))
      .sortBy(_._1)
      .foreach { case (hash, key) => append(writer, hash, key) }
    writer.take()
  }

  def slice(number: Long): Slice = {
    val bytes = new Array[Byte](8)
    SumFold.view(bytes).putLong(0, number)
    new Slice().set(bytes, 0, 8)
  }
}
