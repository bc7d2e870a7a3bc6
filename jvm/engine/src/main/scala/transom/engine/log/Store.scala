package transom.engine.log

import scala.collection.mutable

/** The name of a segment within its key group. */
final case class SegmentKey(slice: Long, sequence: Int)

/** Where the segments of one key group live: Spark's state, or memory. */
trait Store {

  /** The group's directory, null if it has none. */
  def directory: Array[Byte]
  def saveDirectory(bytes: Array[Byte]): Unit
  def removeDirectory(): Unit

  def get(slice: Long, sequence: Int): Array[Byte]
  def put(slice: Long, sequence: Int, segment: Array[Byte]): Unit
  def remove(slice: Long, sequence: Int): Unit

  /** Puts what a batch of the key group leaves. */
  def putAll(segments: Iterable[(SegmentKey, Array[Byte])]): Unit =
    segments.foreach { case (key, segment) => put(key.slice, key.sequence, segment) }
}

/** Holds what is put until it is flushed, so that what a batch of a key group writes and removes
  * again never reaches the store behind it. What exceeds `maxHeld` bytes goes there at once.
  */
final class BufferedStore(underlying: Store, maxHeld: Long = BufferedStore.MaxHeld)
    extends Store {
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

  def flush(): Unit = {
    underlying.putAll(held)
    held.clear()
    bytes = 0L
  }
}

object BufferedStore {
  final val MaxHeld = 32L << 20
}

/** A store that lasts as long as one query over a static DataFrame, or one test. */
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

  /** How many entries are held, the directory not counted. */
  def size: Int = segments.size
}
