package transom.engine.state

/** The segments of a key group in memory. */
final class MemoryStore(state: CountedState = new CountedState) extends SegmentEntries(state) {

  /** Number of stored segments, without the directory. */
  def size: Int = state.sizeOf("segments")
}
