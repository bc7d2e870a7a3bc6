package org.apache.spark.sql.transom

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{InputRDDCodegen, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.internal.SQLConf

import transom.spark.TransomException

/** What a key group yields when it is visited: a row of counts, or null, for whoever observes the
  * stage, and the rows that go on. As one row of a stateful operator it spares the others what
  * Spark does there for each.
  */
final class Visit(counts: InternalRow, val rows: Iterator[InternalRow])
    extends GenericInternalRow(Array[Any](counts))

private object Visit {

  /** The counts of a visit in the order of [[RowCounts.names]], or none. */
  def counts(visit: InternalRow): Seq[Long] =
    if (visit.isNullAt(0)) Nil
    else {
      val counts = visit.getStruct(0, RowCounts.names.length)
      RowCounts.names.indices.map(counts.getLong)
    }
}

/** Takes visits out of the objects in which a stateful operator hands them on. Their counts are
  * added to the metrics that Spark shows of the query.
  */
case class VisitsExec(output: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {

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
        val visit = wrapped.get(0, RowObject.dataType).asInstanceOf[Visit]
        if (!visit.isNullAt(0)) {
          val counts = visit.getStruct(0, counters.length)
          counters.zipWithIndex.foreach { case (counter, i) => counter += counts.getLong(i) }
        }
        visit
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

  override protected def withNewChildInternal(newChild: SparkPlan): VisitsExec =
    copy(child = newChild)
}

/** The rows of visits. Generated code above reads their columns where they lie. */
case class VisitedRowsExec(output: Seq[Attribute], child: SparkPlan) extends FiredRowsExec {

  override def inputRDD: RDD[InternalRow] =
    child.execute().mapPartitionsInternal(_.flatMap(_.asInstanceOf[Visit].rows))

  override protected def withNewChildInternal(newChild: SparkPlan): VisitedRowsExec =
    copy(child = newChild)
}

/** A node whose rows are not Spark's own: for generated code a plan begins here. */
trait FiredRowsExec extends UnaryExecNode with InputRDDCodegen {
  override protected def canCheckLimitNotReached: Boolean = true

  override def producedAttributes: AttributeSet = outputSet

  override protected val createUnsafeProjection: Boolean = true

  override protected def doExecute(): RDD[InternalRow] = {
    val types = output.map(_.dataType).toArray
    inputRDD.mapPartitionsInternal(rows => rows.map(UnsafeProjection.create(types)))
  }
}
