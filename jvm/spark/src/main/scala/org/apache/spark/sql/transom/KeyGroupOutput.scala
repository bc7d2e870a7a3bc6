package org.apache.spark.sql.transom

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{InputRDDCodegen, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.internal.SQLConf

import transom.spark.TransomException

/** What a key group yields in a batch: a row of counts, or null, for whoever observes the
  * operator, and the rows that go on. As one row of a stateful operator it spares the others what
  * Spark does there for each.
  */
final class KeyGroupOutput(counts: InternalRow, val rows: Iterator[InternalRow])
    extends GenericInternalRow(Array[Any](counts))

private object KeyGroupOutput {

  /** The counts of a key group output in the order of [[RowCounts.names]], or none. */
  def counts(groupOutput: InternalRow): Seq[Long] =
    if (groupOutput.isNullAt(0)) Nil
    else {
      val counts = groupOutput.getStruct(0, RowCounts.names.length)
      RowCounts.names.indices.map(counts.getLong)
    }
}

/** Takes key group outputs out of the objects in which a stateful operator hands them on. Their
  * counts are added to the metrics that Spark shows of the query.
  */
case class KeyGroupOutputsExec(output: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {

  override lazy val metrics: Map[String, SQLMetric] = RowCounts.names.map { name =>
    name -> SQLMetrics.createMetric(sparkContext, s"transom ${name.replace('_', ' ')}")
  }.toMap

  override def producedAttributes: AttributeSet = outputSet

  override protected def doExecute(): RDD[InternalRow] = {
    refuseOtherStores()
    val counters = RowCounts.names.map(longMetric)
    child
      .execute()
      .mapPartitionsInternal(_.map { wrapped =>
        val groupOutput = wrapped.get(0, RowObject.dataType).asInstanceOf[KeyGroupOutput]
        if (!groupOutput.isNullAt(0)) {
          val counts = groupOutput.getStruct(0, counters.length)
          counters.zipWithIndex.foreach { case (counter, i) => counter += counts.getLong(i) }
        }
        groupOutput
      })
  }

  /** Spark's operator below would refuse them too. Until a batch runs, the setting may change: a
    * checkpoint puts its own in place.
    */
  private def refuseOtherStores(): Unit = {
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

/** The rows of key group outputs. Generated code above reads their columns where they lie. */
case class OutputRowsExec(output: Seq[Attribute], child: SparkPlan) extends ResultRowsExec {

  override def inputRDD: RDD[InternalRow] =
    child.execute().mapPartitionsInternal(_.flatMap(_.asInstanceOf[KeyGroupOutput].rows))

  override protected def withNewChildInternal(newChild: SparkPlan): OutputRowsExec =
    copy(child = newChild)
}

/** A node whose rows are not Spark's own: for generated code a plan begins here. */
trait ResultRowsExec extends UnaryExecNode with InputRDDCodegen {
  override protected def canCheckLimitNotReached: Boolean = true

  override def producedAttributes: AttributeSet = outputSet

  override protected val createUnsafeProjection: Boolean = true

  override protected def doExecute(): RDD[InternalRow] = {
    val types = output.map(_.dataType).toArray
    inputRDD.mapPartitionsInternal(rows => rows.map(UnsafeProjection.create(types)))
  }
}
