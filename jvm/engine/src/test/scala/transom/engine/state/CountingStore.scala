package transom.engine.state

/** A store that counts the segments that are read. */
final class CountingStore(underlying: SegmentStore) extends SegmentStore {
  var reads = 0

  override def directory: Array[Byte] = underlying.directory
  override def saveDirectory(bytes: Array[Byte]): Unit = underlying.saveDirectory(bytes)
  override def removeDirectory(): Unit = underlying.removeDirectory()

  override def get(slice: Long, sequence: Int): Array[Byte] = {
    reads += 1
    underlying.get(slice, sequence)
  }
  override def put(slice: Long, sequence: Int, segment: Array[Byte]): Unit =
    underlying.put(slice, sequence, segment)
  override def remove(slice: Long, sequence: Int): Unit = underlying.remove(slice, sequence)
}
