package org.apache.spark.sql.transom

import java.util.concurrent.TimeUnit.NANOSECONDS

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators

/** Brings the rows of the exchange to the partition of their key group, and sorts them there: by
  * group, and within a group by what else `order` says. The stateful operator above finds both
  * done.
  *
  * Spark would sort by group alone. Its own node would also be generated code, compiled anew for
  * each query, and would take the plan below it along to each task.
  *
  * @param order
  *   the group first
  */
case class ByKeyGroupExec(
    order: Seq[SortOrder],
    output: Seq[Attribute],
    @transient child: SparkPlan)
    extends UnaryExecNode {

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "sortTime" -> SQLMetrics.createTimingMetric(sparkContext, "sort time"),
    "peakMemory" -> SQLMetrics.createSizeMetric(sparkContext, "peak memory"),
    "spillSize" -> SQLMetrics.createSizeMetric(sparkContext, "spill size"))

  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = order

  // The number of partitions is that of the checkpoint, which the operator will ask for too.
  override def requiredChildDistribution: Seq[Distribution] = {
    val partitions = LateWatermark
      .runningBatch(session)
      .fold(conf.numShufflePartitions)(_.numStateStores)
    StatefulOpClusteredDistribution(Seq(order.head.child), partitions) :: Nil
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val sorting = ByKeyGroupSorting(order, output, schema, conf.enableRadixSort)
    val (sortTime, peakMemory, spillSize) =
      (longMetric("sortTime"), longMetric("peakMemory"), longMetric("spillSize"))
    child.execute().mapPartitionsInternal { rows =>
      val task = TaskContext.get().taskMetrics()
      val spilledBefore = task.memoryBytesSpilled
      val sorter = sorting.sorter()
      val sorted = sorter.sort(rows.asInstanceOf[Iterator[UnsafeRow]])
      sortTime += NANOSECONDS.toMillis(sorter.getSortTimeNanos)
      peakMemory += sorter.getPeakMemoryUsage
      spillSize += task.memoryBytesSpilled - spilledBefore
      task.incPeakExecutionMemory(sorter.getPeakMemoryUsage)
      sorted
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): ByKeyGroupExec =
    copy(child = newChild)
}

/** How the tasks of one [[ByKeyGroupExec]] sort: with Spark's own sorter, which spills. */
private final case class ByKeyGroupSorting(
    order: Seq[SortOrder],
    columns: Seq[Attribute],
    schema: StructType,
    radix: Boolean) {

  def sorter(): UnsafeExternalRowSorter = {
    // Groups are told apart by the prefix alone; what is equal by it is in one.
    val isByGroupAlone = order.length == 1
    UnsafeExternalRowSorter.create(
      schema,
      if (isByGroupAlone) Ordering.by[InternalRow, Int](_.getInt(ExchangeFormat.Group))
      else RowOrdering.create(order, columns),
      PrefixComparators.LONG,
      new GroupPrefix,
      math.min(SparkEnv.get.memoryManager.pageSizeBytes, ByKeyGroupSorting.PageBytes),
      radix && isByGroupAlone)
  }
}

private object ByKeyGroupSorting {

  // A task is given a page for its first record, of up to 64 MB as Spark would have it, and a
  // batch seldom brings it as much. It is zeroed first, and what lies in the heap beside it is
  // marked again and again.
  private final val PageBytes = 4L * 1024 * 1024
}

private final class GroupPrefix extends UnsafeExternalRowSorter.PrefixComputer {
  private val prefix = new UnsafeExternalRowSorter.PrefixComputer.Prefix

  override def computePrefix(row: InternalRow): UnsafeExternalRowSorter.PrefixComputer.Prefix = {
    prefix.value = row.getInt(ExchangeFormat.Group).toLong
    prefix
  }
}
