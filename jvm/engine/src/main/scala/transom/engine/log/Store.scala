package transom.engine.log

import scala.collection.mutable

/** The name of a segment within its key group. */
final case class SegmentKey(pane: Long, sequence: Int)

/** Where the segments of one key group live: Spark's state, or memory. */
trait Store {

  /** The group's directory, null if it has none. */
  def directory: Array[Byte]
  def saveDirectory(bytes: Array[Byte]): Unit
  def removeDirectory(): Unit

  def get(pane: Long, sequence: Int): Array[Byte]
  def put(pane: Long, sequence: Int, segment: Array[Byte]): Unit
  def remove(pane: Long, sequence: Int): Unit

  /** Puts what a visit to the group leaves. */
  def putAll(segments: Iterable[(SegmentKey, Array[Byte])]): Unit =
    segments.foreach { case (key, segment) => put(key.pane, key.sequence, segment) }
}

/** Holds what is put until it is flushed, so that what a visit to a key group writes and removes
  * again never reaches the store behind it. What exceeds `maxHeld` bytes goes there at once.
  */
final class BufferedStore(behind: Store, maxHeld: Long = BufferedStore.MaxHeld) extends Store {
  private val held = mutable.LinkedHashMap.empty[SegmentKey, Array[Byte]]
  private var bytes = 0L

  override def directory: Array[Byte] = behind.directory
  override def saveDirectory(bytes: Array[Byte]): Unit = behind.saveDirectory(bytes)
  override def removeDirectory(): Unit = behind.removeDirectory()

  override def get(pane: Long, sequence: Int): Array[Byte] =
    held.getOrElse(SegmentKey(pane, sequence), behind.get(pane, sequence))

  override def put(pane: Long, sequence: Int, segment: Array[Byte]): Unit =
    if (bytes + segment.length > maxHeld) behind.put(pane, sequence, segment)
    else {
      held(SegmentKey(pane, sequence)) = segment
      bytes += segment.length
    }

  override def remove(pane: Long, sequence: Int): Unit =
    held.remove(SegmentKey(pane, sequence)) match {
      case Some(segment) => bytes -= segment.length
      case None => behind.remove(pane, sequence)
    }

  def flush(): Unit = {
    behind.putAll(held)
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
  override def get(pane: Long, sequence: Int): Array[Byte] = segments(SegmentKey(pane, sequence))
  override def put(pane: Long, sequence: Int, segment: Array[Byte]): Unit =
    segments(SegmentKey(pane, sequence)) = segment
  override def remove(pane: Long, sequence: Int): Unit =
    segments.remove(SegmentKey(pane, sequence))

  /** How many entries are held, the directory not counted. */
  def size: Int = segments.size
}
