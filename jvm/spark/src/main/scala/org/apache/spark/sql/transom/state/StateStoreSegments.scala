package org.apache.spark.sql.transom.state

import java.nio.ByteBuffer

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.streaming.{MapState, StatefulProcessorHandle, TTLConfig, ValueState}

import transom.engine.state.Store

/** Segment store of the current key group in Spark's state store. The key of a segment is the
  * slice, then the sequence number, both big endian. The sign bit of the slice is flipped, so
  * that keys sort like numbers. Plain bytes are the fastest keys of the state store.
  */
final class StateStoreSegments(
    directoryState: ValueState[Array[Byte]],
    segments: MapState[Array[Byte], Array[Byte]])
    extends Store {

  override def directory: Array[Byte] = directoryState.get()
  override def saveDirectory(bytes: Array[Byte]): Unit = directoryState.update(bytes)
  override def removeDirectory(): Unit = directoryState.clear()

  override def get(slice: Long, sequence: Int): Array[Byte] =
    segments.getValue(key(slice, sequence))
  override def put(slice: Long, sequence: Int, segment: Array[Byte]): Unit =
    segments.updateValue(key(slice, sequence), segment)
  override def remove(slice: Long, sequence: Int): Unit = segments.removeKey(key(slice, sequence))

  private def key(slice: Long, sequence: Int): Array[Byte] =
    ByteBuffer.allocate(12).putLong(slice ^ Long.MinValue).putInt(sequence).array
}

/** Opens the stores. */
object StateStoreSegments {

  /** Opens a store for each grid of an operator. */
  def of(handle: StatefulProcessorHandle, grids: Int): IndexedSeq[StateStoreSegments] =
    (0 until grids).map { i =>
      val suffix = if (i == 0) "" else s"_$i"
      new StateStoreSegments(
        handle.getValueState(s"directory$suffix", Encoders.BINARY, TTLConfig.NONE),
        StateStoreKeys.mapState(handle, s"segments$suffix"))
    }
}
