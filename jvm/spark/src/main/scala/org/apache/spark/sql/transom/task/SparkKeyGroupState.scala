package org.apache.spark.sql.transom.task

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, TTLConfig}

import transom.engine.state.{KeyGroupState, StateMap, StateValue}

/** The state of the current key group in Spark's state store. Spark selects the key group, so one
  * instance serves all key groups of a partition. Plain bytes are the fastest keys of the state
  * store.
  */
final class SparkKeyGroupState(handle: StatefulProcessorHandle) extends KeyGroupState {

  override def value(name: String): StateValue = new StateValue {
    private val state = handle.getValueState(name, Encoders.BINARY, TTLConfig.NONE)
    override def get: Array[Byte] = state.get()
    override def put(value: Array[Byte]): Unit = state.update(value)
    override def remove(): Unit = state.clear()
  }

  override def map(name: String): StateMap = new StateMap {
    private val state = handle.getMapState(name, Encoders.BINARY, Encoders.BINARY, TTLConfig.NONE)
    override def get(key: Array[Byte]): Array[Byte] = state.getValue(key)
    override def put(key: Array[Byte], value: Array[Byte]): Unit = state.updateValue(key, value)
    override def remove(key: Array[Byte]): Unit = state.removeKey(key)
    override def keys: Iterator[Array[Byte]] = state.keys()
    override def entries: Iterator[(Array[Byte], Array[Byte])] = state.iterator()
  }
}
