package org.apache.spark.sql.transom.state

import java.nio.ByteBuffer

import org.apache.spark.sql.streaming.StatefulProcessorHandle

import transom.engine.policy.SourceStore
import transom.engine.spec.WindowSpec
import transom.engine.substream.{HeapStore, SubstreamStore}

/** Substream store of the current key group in Spark's state store. */
final class StateStoreSubstreams(handle: StatefulProcessorHandle, settings: WindowSpec)
    extends StateStoreKeys(handle, settings)
    with SubstreamStore {
  override val clocks: SourceStore = new StateStoreSources(handle, "substreams")
  override val timers: HeapStore = new StateStoreHeaps(handle)
}

/** Heap store in Spark's state store. The key of an entry is the substream, then the position. */
private final class StateStoreHeaps(handle: StatefulProcessorHandle) extends HeapStore {
  private val entries = StateStoreKeys.mapState(handle, "substream_timers")

  override def get(substream: Array[Byte], position: Int): Array[Byte] =
    entries.getValue(key(substream, position))
  override def put(substream: Array[Byte], position: Int, entry: Array[Byte]): Unit =
    entries.updateValue(key(substream, position), entry)
  override def remove(substream: Array[Byte], position: Int): Unit =
    entries.removeKey(key(substream, position))

  private def key(substream: Array[Byte], position: Int): Array[Byte] =
    ByteBuffer.allocate(substream.length + 4).put(substream).putInt(position).array
}
