package transom.engine.state

/** The segments of a key group in memory. */
final class MemoryStore(state: MemoryState = new MemoryState) extends SegmentEntries(state) {

  /** Number of stored segments, without the directory. */
  def size: Int = state.sizeOf("segments")
}
