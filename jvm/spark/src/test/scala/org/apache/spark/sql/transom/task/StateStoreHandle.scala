package org.apache.spark.sql.transom.task

import java.nio.file.Files
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor._
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, TimeMode}
import org.apache.spark.sql.transom.TestSession
import org.apache.spark.sql.types.{BinaryType, StructType}

/** The handle of a stateful processor over RocksDB, without a query.
  *
  * @param keys
  *   encodes the id of a key group
  */
final class StateStoreHandle private (store: StateStore, keys: ExpressionEncoder[Int]) {
  private val spark = new StatefulProcessorHandleImpl(
    store,
    UUID.randomUUID(),
    keys.asInstanceOf[ExpressionEncoder[Any]],
    TimeMode.EventTime())

  val handle: StatefulProcessorHandle = spark

  /** Another handle over the same store. */
  def withKeys(keys: ExpressionEncoder[Int]): StateStoreHandle = new StateStoreHandle(store, keys)

  /** Selects a key group, as Spark does before it calls a processor. State variables must exist
    * by then.
    */
  def select(group: Int): Unit = {
    if (spark.getHandleState == StatefulProcessorHandleState.CREATED)
      spark.setHandleState(StatefulProcessorHandleState.INITIALIZED)
    ImplicitGroupingKeyTracker.setImplicitKey(group)
  }
}

object StateStoreHandle {

  /** Runs `body` over an empty state store in a directory of its own. */
  def using(body: StateStoreHandle => Unit): Unit = {
    // State stores report to a coordinator, which starts with the manager of streaming queries.
    TestSession.spark.streams: Unit
    val directory = Files.createTempDirectory("state").toString
    val bytes = new StructType().add("key", BinaryType)
    val conf = new Configuration
    conf.set(StreamExecution.RUN_ID_KEY, UUID.randomUUID().toString)
    val provider = new RocksDBStateStoreProvider
    provider.init(
      StateStoreId(directory, operatorId = 0L, partitionId = 0),
      bytes,
      bytes,
      NoPrefixKeyStateEncoderSpec(bytes),
      useColumnFamilies = true,
      new StateStoreConf,
      conf)
    try {
      val store = provider.getStore(0L)
      try body(new StateStoreHandle(store, encoderFor(Encoders.scalaInt)))
      finally store.abort()
    } finally {
      ImplicitGroupingKeyTracker.removeImplicitKey()
      provider.close()
    }
  }
}
