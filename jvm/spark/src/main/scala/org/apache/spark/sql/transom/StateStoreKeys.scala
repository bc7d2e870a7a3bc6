package org.apache.spark.sql.transom

import java.nio.ByteBuffer

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.streaming._

import transom.engine.keyed.{DueKeys, KeyStore}

/** The keys of the key group at hand in Spark's state store. Entries of the list of dues have
  * keys of one length, big endian (due, number) with the sign of the due turned, so that they
  * sort as numbers do.
  */
final class StateStoreKeys(handle: StatefulProcessorHandle) extends KeyStore {
  private val notes = handle.getValueState("group", Encoders.BINARY, TTLConfig.NONE)
  private val states = mapState("keys")
  private val due = mapState("dues")
  private val rows = mapState("rows")

  override def dueNotes: Array[Byte] = notes.get()
  override def saveDueNotes(bytes: Array[Byte]): Unit = notes.update(bytes)
  override def removeDueNotes(): Unit = notes.clear()

  override def putDue(due: Long, number: Long, keys: Array[Byte]): Unit =
    this.due.updateValue(dueKey(due, number), keys)
  override def removeDue(due: Long, number: Long): Unit = this.due.removeKey(dueKey(due, number))
  override def dues: Iterator[DueKeys] = due.iterator().map { case (key, keys) =>
    val in = ByteBuffer.wrap(key)
    DueKeys(in.getLong() ^ Long.MinValue, in.getLong(), keys)
  }

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

  private def mapState(name: String): MapState[Array[Byte], Array[Byte]] =
    handle.getMapState(name, Encoders.BINARY, Encoders.BINARY, TTLConfig.NONE)

  private def dueKey(due: Long, number: Long): Array[Byte] =
    ByteBuffer.allocate(16).putLong(due ^ Long.MinValue).putLong(number).array

  private def rowKey(key: Array[Byte], list: Long, sequence: Long): Array[Byte] =
    ByteBuffer.allocate(key.length + 16).put(key).putLong(list).putLong(sequence).array
}
