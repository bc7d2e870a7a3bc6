package transom.engine.log

import scala.collection.mutable

/** Where the segments of one key group live: Spark's state, or memory. */
trait Store {

  /** The group's directory, null if it has none. */
  def directory: Array[Byte]
  def saveDirectory(bytes: Array[Byte]): Unit
  def removeDirectory(): Unit

  def get(pane: Long, sequence: Int): Array[Byte]
  def put(pane: Long, sequence: Int, segment: Array[Byte]): Unit
  def remove(pane: Long, sequence: Int): Unit
}

/** A store that lasts as long as one query over a static DataFrame, or one test. */
final class MemoryStore extends Store {
  private val segments = mutable.HashMap.empty[(Long, Int), Array[Byte]]
  private var saved: Array[Byte] = _

  override def directory: Array[Byte] = saved
  override def saveDirectory(bytes: Array[Byte]): Unit = saved = bytes
  override def removeDirectory(): Unit = saved = null
  override def get(pane: Long, sequence: Int): Array[Byte] = segments((pane, sequence))
  override def put(pane: Long, sequence: Int, segment: Array[Byte]): Unit =
    segments((pane, sequence)) = segment
  override def remove(pane: Long, sequence: Int): Unit = segments.remove((pane, sequence))

  /** How many entries are held, the directory not counted. */
  def size: Int = segments.size
}
