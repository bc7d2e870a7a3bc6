package org.apache.spark.sql.transom.canary

import java.nio.file.Path

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.streaming.{StreamingQueryException, TimerValues}

/** What a checkpoint contains at each step of a batch, and what a restarted query reads from it.
  */
class CheckpointSuite extends CanarySuite {
  private val batches = Seq(10L, 20L, 30L).map(second => Seq(ProbeRow(1, second, second)))

  canary(
    "The state directory and the logs are in the root of the checkpoint. Spark writes the " +
      "offsets of a batch before the batch runs, and the commit afterwards.",
    "CheckpointedSpec.scala",
    "ClockStream.scala") {
    val checkpoint = newCheckpoint()
    def note(node: SparkPlan): Unit = {
      val query = runningQuery
      val batch = query.lastExecution
      assertEquals(pathOf(query.resolvedCheckpointRoot), checkpoint)
      assertEquals(pathOf(batch.checkpointLocation).getParent, checkpoint)
      val (offsets, commits) =
        (batchesIn(checkpoint, "offsets"), batchesIn(checkpoint, "commits"))
      Journal.add(
        batch.currentBatchId,
        s"offsets ${offsets.mkString(" ")}, commits ${commits.mkString(" ")}")
    }
    Probe.watch("input", Probe.Watcher(onExecute = note))
    run(
      Probe.operator(Probe.input(new Feed(batches: _*).timed(spark)), new NotesTime),
      checkpoint)
    assertEquals(Journal.of(0).distinct.take(1), Seq("offsets 0, commits "))
    assert(Journal.of(1).contains("offsets 0 1, commits 0"), Journal.of(1))
    assert(Journal.of(2).contains("offsets 0 1 2, commits 0 1"), Journal.of(2))
  }

  canary("The commit log holds the event watermark of the next batch.", "ClockStream.scala") {
    def note(node: SparkPlan): Unit = {
      val query = runningQuery
      val committed = query.commitLog.getLatest().map(_._2.nextBatchWatermarkMs / 1000L)
      Journal.add(query.lastExecution.currentBatchId, s"committed $committed")
    }
    Probe.watch("input", Probe.Watcher(onExecute = note))
    run(Probe.operator(Probe.input(new Feed(batches: _*).timed(spark)), new NotesTime))
    val noted = (0 to 3).map(Journal.of(_).find(_.startsWith("committed")).get)
    assertEquals(noted, Seq("None", "Some(10)", "Some(20)", "Some(30)").map(w => s"committed $w"))
  }

  canary(
    "A replayed batch has the same id, offsets, watermark and wall clock as before the crash.",
    "ClockStream.scala",
    "KeyGroupProcessor.scala") {
    val checkpoint = newCheckpoint()
    var crashes = true
    var before = Seq.empty[String]
    def crash(node: SparkPlan): Unit = {
      val batch = runningQuery.lastExecution
      if (crashes && batch.currentBatchId == 1) {
        val offsets = batch.offsetSeqMetadata
        before =
          Seq(s"id 20 at ${offsets.batchTimestampMs}, watermark ${offsets.batchWatermarkMs}")
        throw new IllegalStateException("the canary ends this run")
      }
    }
    Probe.watch("input", Probe.Watcher(onExecute = crash))
    val first = new Feed(batches: _*)
    intercept[StreamingQueryException] {
      run(Probe.operator(Probe.input(first.timed(spark)), new NotesTime), checkpoint)
    }
    crashes = false
    val second = new Feed(batches: _*)
    run(Probe.operator(Probe.input(second.timed(spark)), new NotesTime), checkpoint)
    assertEquals(Journal.of(1), before)
    // The offsets of the replayed batch come from the checkpoint. Spark does not call the source.
    assertEquals(second.calls.find(_.startsWith("latest")), Some("latest from 2"))
  }

  private def pathOf(location: String): Path =
    if (location.startsWith("/")) Path.of(location) else Path.of(java.net.URI.create(location))
}

/** Notes the ids of rows with the wall clock and the watermark, in milliseconds. */
private final class NotesTime extends ProbeProcessor {
  override def handleInputRows(
      group: Int,
      ids: Iterator[Long],
      timerValues: TimerValues): Iterator[Emission] = {
    ids.foreach { id =>
      val (now, watermark) =
        (timerValues.getCurrentProcessingTimeInMs(), timerValues.getCurrentWatermarkInMs())
      Journal.add(s"id $id at $now, watermark $watermark")
    }
    Iterator.empty
  }
}
