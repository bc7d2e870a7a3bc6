package org.apache.spark.sql.transom.exec

import java.util.concurrent.TimeUnit.NANOSECONDS

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.transom.batch.LateWatermark
import org.apache.spark.sql.transom.exchange.ExchangeFormat
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators

/** Logical node that brings the exchange rows of a key group together, sorted by `order`. */
case class ByKeyGroup(order: Seq[SortOrder], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): ByKeyGroup =
    copy(child = newChild)
}

/** Sorts rows in the exchange format by key group, in the partition of their key group.
  *
  * The rows are sorted by key group first and then by the rest of `order`. Spark adds the
  * exchange below this node. The stateful operator above requires the same distribution and sort
  * order, so Spark adds no other node.
  *
  * Spark would sort by key group alone. Its `SortExec` would also generate code for each query,
  * and would send the plan below it along with each task.
  *
  * @param order
  *   sort order; the key group comes first
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

  // Use the number of partitions in the checkpoint, as the stateful operator does.
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
    val sorted = child.execute().mapPartitionsInternal { rows =>
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
    // Positions are unique, so no other order is possible. Rows without a position may come in any
    // order.
    if (order.length > 1) new RowsInTotalOrder(sorted) else sorted
  }

  override protected def withNewChildInternal(newChild: SparkPlan): ByKeyGroupExec =
    copy(child = newChild)
}

/** Creates the sorters of [[ByKeyGroupExec]]. They are Spark's external sorters, which can spill.
  */
private final case class ByKeyGroupSorting(
    order: Seq[SortOrder],
    columns: Seq[Attribute],
    schema: StructType,
    radix: Boolean) {

  def sorter(): UnsafeExternalRowSorter = {
    // The prefix is the key group. Without other sort columns, rows with equal prefixes need no
    // order.
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

  // Spark's default page has up to 64 MB, and a batch seldom fills it. Spark zeroes the page of a
  // task's first record, and large pages cause repeated marking by the garbage collector.
  private final val PageBytes = 4L * 1024 * 1024
}

/** Computes the sort prefix of a row in the exchange format: its key group. Reuses its result. */
private final class GroupPrefix extends UnsafeExternalRowSorter.PrefixComputer {
  private val prefix = new UnsafeExternalRowSorter.PrefixComputer.Prefix

  override def computePrefix(row: InternalRow): UnsafeExternalRowSorter.PrefixComputer.Prefix = {
    prefix.value = row.getInt(ExchangeFormat.Group).toLong
    prefix
  }
}
