package org.apache.spark.sql.transom.state

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, TTLConfig}

import transom.engine.policy.SourceStore

/** Source store of the current key group in Spark's state store. Spark selects the key group, so
  * one instance serves all groups of a partition.
  *
  * @param headerName
  *   the name of the state variable of the key group itself
  */
final class StateStoreSources(handle: StatefulProcessorHandle, headerName: String = "group")
    extends SourceStore {
  private val sources = StateStoreKeys.mapState(handle, "sources")
  private val headerState = handle.getValueState(headerName, Encoders.BINARY, TTLConfig.NONE)

  override def get(source: Array[Byte]): Array[Byte] = sources.getValue(source)
  override def put(source: Array[Byte], state: Array[Byte]): Unit =
    sources.updateValue(source, state)
  override def remove(source: Array[Byte]): Unit = sources.removeKey(source)
  override def all: Iterator[(Array[Byte], Array[Byte])] = sources.iterator()

  override def header: Array[Byte] = headerState.get()
  override def saveHeader(header: Array[Byte]): Unit = headerState.update(header)
}
