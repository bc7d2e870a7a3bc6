package transom.engine.state

import scala.collection.mutable

/** Identifies a segment within its key group.
  *
  * @param slice
  *   start of the slice
  * @param sequence
  *   number of the segment within the slice
  */
final case class SegmentKey(slice: Long, sequence: Int)

/** Stores the segments and the directory of one key group, in Spark's state store or in memory.
  * Not thread-safe.
  */
trait Store {

  /** The serialised directory; null if the key group has none. */
  def directory: Array[Byte]
  def saveDirectory(bytes: Array[Byte]): Unit
  def removeDirectory(): Unit

  def get(slice: Long, sequence: Int): Array[Byte]
  def put(slice: Long, sequence: Int, segment: Array[Byte]): Unit
  def remove(slice: Long, sequence: Int): Unit

  /** Stores the segments that a batch leaves in the key group. Implementations may group the
    * segments.
    */
  def putAll(segments: Iterable[(SegmentKey, Array[Byte])]): Unit =
    segments.foreach { case (key, segment) => put(key.slice, key.sequence, segment) }

  /** Writes the segments that the store has buffered, if any. */
  def flush(): Unit = ()
}

/** Buffers segments until `flush`.
  *
  * A segment that one batch writes and removes therefore never reaches the underlying store. The
  * directory is not buffered. Call `flush` once, at the end of the key group's batch.
  *
  * @param underlying
  *   the store of the key group
  * @param maxHeld
  *   limit of the buffer in bytes; a segment that would exceed the limit is written at once
  */
final class BufferedStore(underlying: Store, maxHeld: Long) extends Store {
  private val held = mutable.LinkedHashMap.empty[SegmentKey, Array[Byte]]
  private var bytes = 0L

  override def directory: Array[Byte] = underlying.directory
  override def saveDirectory(bytes: Array[Byte]): Unit = underlying.saveDirectory(bytes)
  override def removeDirectory(): Unit = underlying.removeDirectory()

  override def get(slice: Long, sequence: Int): Array[Byte] =
    held.getOrElse(SegmentKey(slice, sequence), underlying.get(slice, sequence))

  override def put(slice: Long, sequence: Int, segment: Array[Byte]): Unit =
    if (bytes + segment.length > maxHeld) underlying.put(slice, sequence, segment)
    else {
      held(SegmentKey(slice, sequence)) = segment
      bytes += segment.length
    }

  override def remove(slice: Long, sequence: Int): Unit =
    held.remove(SegmentKey(slice, sequence)) match {
      case Some(segment) => bytes -= segment.length
      case None => underlying.remove(slice, sequence)
    }

  override def flush(): Unit = {
    underlying.putAll(held)
    held.clear()
    bytes = 0L
  }
}

/** A store in memory, for one query over a static DataFrame or for one test. */
final class MemoryStore extends Store {
  private val segments = mutable.HashMap.empty[SegmentKey, Array[Byte]]
  private var saved: Array[Byte] = _

  override def directory: Array[Byte] = saved
  override def saveDirectory(bytes: Array[Byte]): Unit = saved = bytes
  override def removeDirectory(): Unit = saved = null
  override def get(slice: Long, sequence: Int): Array[Byte] = segments(
    SegmentKey(slice, sequence))
  override def put(slice: Long, sequence: Int, segment: Array[Byte]): Unit =
    segments(SegmentKey(slice, sequence)) = segment
  override def remove(slice: Long, sequence: Int): Unit =
    segments.remove(SegmentKey(slice, sequence))

  /** Number of stored segments, without the directory. */
  def size: Int = segments.size
}
