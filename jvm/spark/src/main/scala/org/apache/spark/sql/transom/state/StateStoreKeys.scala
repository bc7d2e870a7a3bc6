package org.apache.spark.sql.transom.state

import java.nio.ByteBuffer

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.streaming._

import transom.engine.keyed.state.{KeyStore, MemoryTimerStore, TimerEntry, TimerStore}
import transom.engine.spec.{Stagger, WindowSpec}

/** Key store of the current key group in Spark's state store. Uses only the state variables that
  * the operator needs. Spark selects the key group, so one instance serves all groups of a
  * partition.
  */
class StateStoreKeys(handle: StatefulProcessorHandle, settings: WindowSpec) extends KeyStore {
  private val states = StateStoreKeys.mapState(handle, "keys")
  private val rows = StateStoreKeys.mapState(handle, "rows")

  override val watermarkTimers: TimerStore = new StateStoreTimers(handle, "group", "timers")
  override val clockTimers: TimerStore =
    if (settings.needsClock) new StateStoreTimers(handle, "clock", "clock_timers")
    else new MemoryTimerStore

  private val first =
    if (settings.window.stagger == Stagger.Natural)
      Some(handle.getValueState("first_row", Encoders.scalaLong, TTLConfig.NONE))
    else None
  override def firstRow: Option[Long] = first.filter(_.exists()).map(_.get())
  override def saveFirstRow(clock: Long): Unit = first.foreach(_.update(clock))

  private val open =
    if (settings.hasEdges)
      Some(handle.getValueState("open_rows", Encoders.scalaLong, TTLConfig.NONE))
    else None
  override def openRows: Long = open.filter(_.exists()).fold(0L)(_.get())
  override def saveOpenRows(count: Long): Unit = open.foreach(_.update(count))

  override def get(key: Array[Byte]): Array[Byte] = states.getValue(key)
  override def put(key: Array[Byte], state: Array[Byte]): Unit = states.updateValue(key, state)
  override def remove(key: Array[Byte]): Unit = states.removeKey(key)
  override def keys: Iterator[Array[Byte]] = states.keys()

  override def getRow(key: Array[Byte], list: Long, sequence: Long): Array[Byte] =
    rows.getValue(rowKey(key, list, sequence))
  override def putRow(key: Array[Byte], list: Long, sequence: Long, row: Array[Byte]): Unit =
    rows.updateValue(rowKey(key, list, sequence), row)
  override def removeRow(key: Array[Byte], list: Long, sequence: Long): Unit =
    rows.removeKey(rowKey(key, list, sequence))

  private def rowKey(key: Array[Byte], list: Long, sequence: Long): Array[Byte] =
    ByteBuffer.allocate(key.length + 16).put(key).putLong(list).putLong(sequence).array
}

/** Creates map states of bytes. */
private object StateStoreKeys {
  def mapState(
      handle: StatefulProcessorHandle,
      name: String): MapState[Array[Byte], Array[Byte]] =
    handle.getMapState(name, Encoders.BINARY, Encoders.BINARY, TTLConfig.NONE)
}

/** Timer index in Spark's state store. The key of an entry is the timer, then the number, both
  * big endian. The sign bit of the timer is flipped, so that keys sort like numbers.
  */
final class StateStoreTimers(handle: StatefulProcessorHandle, headerName: String, name: String)
    extends TimerStore {
  private val headerState = handle.getValueState(headerName, Encoders.BINARY, TTLConfig.NONE)
  private val entryState = StateStoreKeys.mapState(handle, name)

  override def header: Array[Byte] = headerState.get()
  override def saveHeader(header: Array[Byte]): Unit = headerState.update(header)
  override def removeHeader(): Unit = headerState.clear()

  override def put(timer: Long, number: Long, keys: Array[Byte]): Unit =
    entryState.updateValue(key(timer, number), keys)
  override def remove(timer: Long, number: Long): Unit = entryState.removeKey(key(timer, number))
  override def entries: Iterator[TimerEntry] = entryState.iterator().map { case (key, keys) =>
    val in = ByteBuffer.wrap(key)
    new TimerEntry(in.getLong() ^ Long.MinValue, in.getLong(), keys)
  }

  private def key(timer: Long, number: Long): Array[Byte] =
    ByteBuffer.allocate(16).putLong(timer ^ Long.MinValue).putLong(number).array
}
