package transom.engine.state

import java.nio.ByteBuffer

import scala.collection.mutable

/** Identifies a segment within its key group.
  *
  * @param slice
  *   start of the slice
  * @param sequence
  *   number of the segment within the slice
  */
final case class SegmentKey(slice: Long, sequence: Int)

/** Stores the segments and the directory of one key group. Not thread-safe. */
trait SegmentStore {

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

/** The segments and the directory in the state of the key group.
  *
  * The key of a segment is the slice, then the sequence number, both big endian. The sign bit of
  * the slice is flipped, so that keys sort like numbers.
  *
  * @param member
  *   the number of the log among those of several windows, from 0
  */
class SegmentEntries(state: KeyGroupState, member: Int = 0) extends SegmentStore {
  private val suffix = if (member == 0) "" else s"_$member"
  private val saved = state.value(s"directory$suffix")
  private val segments = state.map(s"segments$suffix")

  override def directory: Array[Byte] = saved.get
  override def saveDirectory(bytes: Array[Byte]): Unit = saved.put(bytes)
  override def removeDirectory(): Unit = saved.remove()

  override def get(slice: Long, sequence: Int): Array[Byte] = segments.get(key(slice, sequence))
  override def put(slice: Long, sequence: Int, segment: Array[Byte]): Unit =
    segments.put(key(slice, sequence), segment)
  override def remove(slice: Long, sequence: Int): Unit = segments.remove(key(slice, sequence))

  private def key(slice: Long, sequence: Int): Array[Byte] =
    ByteBuffer.allocate(12).putLong(slice ^ Long.MinValue).putInt(sequence).array
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
final class BufferedStore(underlying: SegmentStore, maxHeld: Long) extends SegmentStore {
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
