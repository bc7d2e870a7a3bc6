package transom.engine.state

/** Writes sorted records as a run of a slice.
  *
  * Each segment is stored as soon as it is full, so the run need not fit in memory. Append
  * records in order of (hash, key), then call `close`. Not thread-safe.
  *
  * @param store
  *   where the segments are stored
  * @param slice
  *   the slice or block of the run
  * @param first
  *   sequence number of the run's first segment
  */
final class RunWriter(store: SegmentStore, slice: Slice, first: Int) {
  private val writer = new SegmentWriter
  private val parts = Vector.newBuilder[StoredSegment]
  private var segments = 0
  private var bytes = 0L

  def append(hash: Long, key: ByteRange, accumulator: ByteRange): Unit = {
    writer.append(hash, key, accumulator)
    if (writer.isFull) flush()
  }

  def append(hash: Long, key: ByteRange, bounds: SessionBounds, accumulator: ByteRange): Unit = {
    writer.append(hash, key, bounds, accumulator)
    if (writer.isFull) flush()
  }

  /** Adds the run to the slice, unless the run is empty. */
  def close(): Unit = {
    if (!writer.isEmpty) flush()
    if (segments > 0) slice.runs += new Run(first, segments, bytes, parts.result())
  }

  private def flush(): Unit = {
    val segment = writer.take()
    store.put(slice.start, first + segments, segment)
    parts ++= SliceDirectory.part(segment)
    segments += 1
    bytes += segment.length
  }
}
