package org.apache.spark.sql.transom

import java.nio.ByteBuffer

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.streaming._

import transom.engine.keyed.{DueKeys, DueStore, KeyStore, MemoryDueStore}
import transom.engine.spec.{Stagger, WindowSpec}

/** The keys of the key group at hand in Spark's state store, with the variables that the stage
  * needs.
  */
final class StateStoreKeys(handle: StatefulProcessorHandle, settings: WindowSpec)
    extends KeyStore {
  private val states = StateStoreKeys.mapState(handle, "keys")
  private val rows = StateStoreKeys.mapState(handle, "rows")

  override val watermarkDues: DueStore = new StateStoreDues(handle, "group", "dues")
  override val clockDues: DueStore =
    if (settings.needsClock) new StateStoreDues(handle, "clock", "clock_dues")
    else new MemoryDueStore

  private val first =
    if (settings.window.stagger == Stagger.Natural)
      Some(handle.getValueState("first_row", Encoders.scalaLong, TTLConfig.NONE))
    else None
  override def firstRow: Option[Long] = first.filter(_.exists()).map(_.get())
  override def saveFirstRow(clock: Long): Unit = first.foreach(_.update(clock))

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

private object StateStoreKeys {
  def mapState(
      handle: StatefulProcessorHandle,
      name: String): MapState[Array[Byte], Array[Byte]] =
    handle.getMapState(name, Encoders.BINARY, Encoders.BINARY, TTLConfig.NONE)
}

/** A list of dues in Spark's state store. Its entries have keys of one length, big endian (due,
  * number) with the sign of the due turned, so that they sort as numbers do.
  */
final class StateStoreDues(handle: StatefulProcessorHandle, notesName: String, name: String)
    extends DueStore {
  private val noted = handle.getValueState(notesName, Encoders.BINARY, TTLConfig.NONE)
  private val due = StateStoreKeys.mapState(handle, name)

  override def notes: Array[Byte] = noted.get()
  override def saveNotes(notes: Array[Byte]): Unit = noted.update(notes)
  override def removeNotes(): Unit = noted.clear()

  override def put(due: Long, number: Long, keys: Array[Byte]): Unit =
    this.due.updateValue(key(due, number), keys)
  override def remove(due: Long, number: Long): Unit = this.due.removeKey(key(due, number))
  override def entries: Iterator[DueKeys] = due.iterator().map { case (key, keys) =>
    val in = ByteBuffer.wrap(key)
    DueKeys(in.getLong() ^ Long.MinValue, in.getLong(), keys)
  }

  private def key(due: Long, number: Long): Array[Byte] =
    ByteBuffer.allocate(16).putLong(due ^ Long.MinValue).putLong(number).array
}
