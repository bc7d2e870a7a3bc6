package transom.engine.substream

import java.util.HashMap

import transom.engine.keyed.state.{KeyStore, MemoryKeyStore}
import transom.engine.policy.{MemorySourceStore, SourceStore}
import transom.engine.state.KeyBytes

/** Store of one key group of substreams: the keys, the clocks of the substreams, and their
  * timers.
  */
trait SubstreamStore extends KeyStore {

  /** The clocks. */
  def clocks: SourceStore

  /** The timers. */
  def timers: HeapStore
}

/** Store of heaps, one for each substream. A heap has entries at consecutive positions. */
trait HeapStore {

  /** The entry at a position, or null if there is none. */
  def get(substream: Array[Byte], position: Int): Array[Byte]
  def put(substream: Array[Byte], position: Int, entry: Array[Byte]): Unit
  def remove(substream: Array[Byte], position: Int): Unit
}

/** A substream store in memory, for a query over a static DataFrame or a test. */
final class MemorySubstreamStore extends MemoryKeyStore with SubstreamStore {
  override val clocks: MemorySourceStore = new MemorySourceStore
  override val timers: MemoryHeapStore = new MemoryHeapStore
}

/** A heap store in memory, for `MemorySubstreamStore`. */
final class MemoryHeapStore extends HeapStore {
  private val entries = new HashMap[(KeyBytes, Int), Array[Byte]]

  override def get(substream: Array[Byte], position: Int): Array[Byte] =
    entries.get((KeyBytes.of(substream), position))
  override def put(substream: Array[Byte], position: Int, entry: Array[Byte]): Unit =
    entries.put((KeyBytes.of(substream), position), entry): Unit
  override def remove(substream: Array[Byte], position: Int): Unit =
    entries.remove((KeyBytes.of(substream), position)): Unit

  /** Number of entries held. */
  def size: Int = entries.size
}
