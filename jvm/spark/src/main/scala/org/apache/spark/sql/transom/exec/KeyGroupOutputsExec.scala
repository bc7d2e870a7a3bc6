package org.apache.spark.sql.transom.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{InputRDDCodegen, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.task.KeyGroupOutput

import transom.engine.operator.RowCounts

/** Unwraps the key group outputs from the object column of a stateful operator.
  *
  * Adds their counts to the SQL metrics of the query.
  */
case class KeyGroupOutputsExec(output: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {

  override lazy val metrics: Map[String, SQLMetric] = RowCounts.names.map { name =>
    name -> SQLMetrics.createMetric(sparkContext, s"transom ${name.replace('_', ' ')}")
  }.toMap

  override def producedAttributes: AttributeSet = outputSet

  override protected def doExecute(): RDD[InternalRow] = {
    checkStateStore()
    val counters = RowCounts.names.map(longMetric)
    child
      .execute()
      .mapPartitionsInternal(_.map { wrapped =>
        val groupOutput = wrapped.get(0, RowObject.dataType).asInstanceOf[KeyGroupOutput]
        KeyGroupOutput.counts(groupOutput).zip(counters).foreach { case (count, counter) =>
          counter += count
        }
        groupOutput
      })
  }

  /** Throws if the state store provider is not RocksDB.
    *
    * The check runs with each batch, because a restored checkpoint replaces the setting. Spark's
    * operator also rejects other providers, but with its own error.
    */
  private def checkStateStore(): Unit = {
    val rocksDb = classOf[RocksDBStateStoreProvider].getName
    val provider = conf.stateStoreProviderClass
    if (provider != rocksDb)
      throw new TransomException(
        "TRANSOM_STATE_STORE",
        Map(
          "provider" -> provider,
          "setting" -> SQLConf.STATE_STORE_PROVIDER_CLASS.key,
          "rocksdb" -> rocksDb))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): KeyGroupOutputsExec =
    copy(child = newChild)
}

/** Emits the rows of key group outputs. Generated code above reads their columns without a copy.
  */
case class OutputRowsExec(output: Seq[Attribute], child: SparkPlan) extends ResultRowsExec {

  override def inputRDD: RDD[InternalRow] =
    child.execute().mapPartitionsInternal(_.flatMap(_.asInstanceOf[KeyGroupOutput].rows))

  override protected def withNewChildInternal(newChild: SparkPlan): OutputRowsExec =
    copy(child = newChild)
}

/** A physical node whose rows are not `UnsafeRow`s.
  *
  * Whole-stage code generation starts at this node.
  */
trait ResultRowsExec extends UnaryExecNode with InputRDDCodegen {
  override protected def canCheckLimitNotReached: Boolean = true

  override def producedAttributes: AttributeSet = outputSet

  override protected val createUnsafeProjection: Boolean = true

  override protected def doExecute(): RDD[InternalRow] = {
    val types = output.map(_.dataType).toArray
    inputRDD.mapPartitionsInternal(rows => rows.map(UnsafeProjection.create(types)))
  }
}
