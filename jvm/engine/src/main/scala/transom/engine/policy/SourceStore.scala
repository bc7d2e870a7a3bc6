package transom.engine.policy

import java.util.HashMap

import scala.jdk.CollectionConverters._

import transom.engine.state.KeyBytes

/** Store of the sources of one key group: Spark's state store, or memory. */
trait SourceStore {

  /** State of a source, or null if there is none. */
  def get(source: Array[Byte]): Array[Byte]
  def put(source: Array[Byte], state: Array[Byte]): Unit
  def remove(source: Array[Byte]): Unit

  /** All sources and their states. Callers may remove sources during iteration. */
  def all: Iterator[(Array[Byte], Array[Byte])]

  /** State of the key group itself, or null if there is none. */
  def header: Array[Byte]
  def saveHeader(header: Array[Byte]): Unit
}

/** A source store in memory, for a query over a static DataFrame or a test. */
final class MemorySourceStore extends SourceStore {
  private val states = new HashMap[KeyBytes, Array[Byte]]
  private var savedHeader: Array[Byte] = _

  override def get(source: Array[Byte]): Array[Byte] = states.get(KeyBytes.of(source))
  override def put(source: Array[Byte], state: Array[Byte]): Unit =
    states.put(KeyBytes.of(source), state): Unit
  override def remove(source: Array[Byte]): Unit = states.remove(KeyBytes.of(source)): Unit
  override def all: Iterator[(Array[Byte], Array[Byte])] =
    states.asScala.toVector.iterator.map { case (source, state) => (source.bytes, state) }
  override def header: Array[Byte] = savedHeader
  override def saveHeader(header: Array[Byte]): Unit = savedHeader = header

  /** Number of sources held. */
  def size: Int = states.size
}
