package org.apache.spark.sql.transom.canary

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper
import org.apache.spark.sql.functions.{count, lit}
import org.apache.spark.sql.streaming.TimerValues

/** What the driver finds in the plan of a running batch, and what Spark reads from that plan. */
class BatchPlanSuite extends CanarySuite {

  canary(
    "While Spark plans a batch and starts it, lastExecution of the query that the thread names " +
      "is this batch.",
    "LateWatermark.scala",
    "ByKeyGroup.scala",
    "CheckpointedSpec.scala",
    "WindowStrategy.scala") {
    def note(event: String)(node: SparkPlan): Unit =
      Journal.add(runningQuery.lastExecution.currentBatchId, event)
    Probe.watch("input", Probe.Watcher(note("planned"), note("executed")))
    val feed = new Feed(Seq(ProbeRow(1, 10, 1)), Seq(ProbeRow(1, 20, 2)))
    run(Probe.operator(Probe.input(feed.timed(spark)), new Passes))
    // The last batch has no rows: it only moves the watermark.
    assertEquals(
      Journal.all.distinct,
      Seq(0, 1, 2).flatMap(batch => Seq(batch.toLong -> "planned", batch.toLong -> "executed")))
  }

  canary(
    "The last stateful operator in preorder above a node is the nearest one, and carries the " +
      "watermark of the batch before for late rows.",
    "LateWatermark.scala") {
    def noteOperatorAbove(node: SparkPlan): Unit = {
      val tag = node.asInstanceOf[ProbeInputExec].tag
      def isInput(plan: SparkPlan, tag: String): Boolean = plan match {
        case input: ProbeInputExec => input.tag == tag
        case _ => false
      }
      val batch = runningQuery.lastExecution
      val above = batch.executedPlan.collect {
        case operator: WatermarkSupport if operator.exists(isInput(_, tag)) => operator
      }
      val other = if (tag == "inner") "outer" else "inner"
      val isNearest = !above.last.exists(isInput(_, other)) || tag == "outer"
      val late = above.last.eventTimeWatermarkForLateEvents.map(_ / 1000L)
      val event = above.last.eventTimeWatermarkForEviction.map(_ / 1000L)
      Journal.add(
        batch.currentBatchId,
        s"$tag: ${above.length} above, nearest $isNearest, late $late, event $event")
    }
    Seq("inner", "outer").foreach(Probe.watch(_, Probe.Watcher(onExecute = noteOperatorAbove)))
    val feed =
      new Feed(Seq(ProbeRow(1, 10, 1)), Seq(ProbeRow(1, 20, 2)), Seq(ProbeRow(1, 30, 3)))
    val inner = Probe.operator(Probe.input(feed.timed(spark), tag = "inner"), new Passes)
    run(Probe.operator(Probe.input(inner, tag = "outer"), new Passes))
    def expected(late: Long, event: Long): Set[String] = {
      val watermarks = s"nearest true, late Some($late), event Some($event)"
      Set(s"inner: 2 above, $watermarks", s"outer: 1 above, $watermarks")
    }
    assertEquals(Journal.of(1).toSet, expected(late = 0, event = 10))
    assertEquals(Journal.of(2).toSet, expected(late = 10, event = 20))
    assertEquals(Journal.of(3).toSet, expected(late = 20, event = 30))
  }

  canary(
    "The value of numStateStores is the number of partitions that the checkpoint began with.",
    "ByKeyGroup.scala") {
    def note(node: SparkPlan): Unit = {
      val batch = runningQuery.lastExecution
      Journal.add(batch.currentBatchId, s"${batch.numStateStores} stores")
    }
    Probe.watch("input", Probe.Watcher(onPlan = note))
    val checkpoint = newCheckpoint()
    val first = Seq(ProbeRow(1, 10, 1))
    def rows(feed: Feed) = Probe.operator(Probe.input(feed.timed(spark)), new Passes)
    withPartitions(2)(run(rows(new Feed(first)), checkpoint))
    val next = Journal.all.map(_._1).max + 1
    withPartitions(3)(run(rows(new Feed(first, Seq(ProbeRow(1, 20, 2)))), checkpoint))
    assertEquals(Journal.of(0).distinct, Seq("2 stores"))
    assertEquals(Journal.of(next).distinct, Seq("2 stores"))
  }

  canary(
    "The metric stateMemory of a stateful operator is the memory in the progress of its batch, and " +
      "its batchTimestampMs is the time of the batch in the offset log.",
    "OperatorMetrics.scala") {
    val query =
      start(
        Probe.operator(Probe.input(new Feed(Seq(ProbeRow(1, 10, 1))).timed(spark)), new Passes),
        newCheckpoint())
    assert(query.awaitTermination(60000L), "the query did not end")
    val batch = query.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution
    val operator = batch.executedPlan.collectFirst { case o: TransformWithStateExec => o }.get
    val inProgress = query.lastProgress.stateOperators.head.memoryUsedBytes
    assert(inProgress > 0L)
    assertEquals(operator.longMetric("stateMemory").value, inProgress)
    assertEquals(operator.batchTimestampMs, Some(batch.offsetSeqMetadata.batchTimestampMs))
  }

  canary(
    "The next watermark comes from eventTimeStats of the watermark node, even if the node " +
      "itself does not run.",
    "InputRows.scala") {
    val feed = new Feed(Seq(ProbeRow(1, 10, 1)), Seq(ProbeRow(1, 10, 2)))
    val rows = Probe.input(feed.timed(spark), statisticsSecond = Some(77))
    val progress = run(Probe.operator(rows, new Passes))
    assertEquals(progress(0).eventTime.get("max"), "1970-01-01T00:01:17.000Z")
    assertEquals(progress(1).eventTime.get("watermark"), "1970-01-01T00:01:17.000Z")
  }

  canary("The watermark node counts a null time as 1970.", "InputRows.scala") {
    val feed = new Feed(Seq(ProbeRow(1, 10, 1), ProbeRow(1, None, 2)))
    val progress = run(Probe.operator(Probe.input(feed.timed(spark)), new Passes))
    assertEquals(progress(0).eventTime.get("min"), "1970-01-01T00:00:00.000Z")
    assertEquals(progress(0).eventTime.get("max"), "1970-01-01T00:00:10.000Z")
  }

  canary(
    "The extra strategies of a session plan its queries before Spark's own. The progress of a " +
      "query has the metrics of each CollectMetricsExec in its plan.",
    "WindowPlanner.scala",
    "OperatorMetrics.scala") {
    val feed = new Feed(Seq(ProbeRow(1, 10, 1)))
    val operator = Probe.operator(Probe.input(feed.timed(spark)), new Passes)
    val progress = run(operator.observe(FixedMetricsExec.Name, count(lit(1L)).as("rows")))
    // Spark itself would count one row.
    assertEquals(
      progress(0).observedMetrics.get(FixedMetricsExec.Name).getLong(0),
      FixedMetricsExec.Value)
  }
}

/** Emits a row for each row. */
private final class Passes extends ProbeProcessor {
  override def handleInputRows(
      group: Int,
      ids: Iterator[Long],
      timerValues: TimerValues): Iterator[Emission] =
    Iterator.single(new Emission(ids.map(ProbeRow(group, None, _))))
}
