package org.apache.spark.sql.transom.canary

import java.nio.file.Path

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.runtime.{StreamExecution, StreamProgress}
import org.apache.spark.sql.streaming.Trigger

/** When Spark asks sources for offsets, and what it makes of the answers. */
class SourceSuite extends CanarySuite {
  private val oneRow = Seq(ProbeRow(1, 10, 1))

  canary(
    "A null offset is no offset: the source alone starts no batch, and Spark asks it from the " +
      "initial offset again.",
    "ClockStream.scala") {
    def silent: Feed = new Feed() { override def next(from: Long): Option[Long] = None }
    val checkpoint = newCheckpoint()
    run(silent.rows(spark), checkpoint)
    assertEquals(batchesIn(checkpoint, "offsets"), Nil)

    val (other, clock) = (new Feed(oneRow, oneRow), silent)
    val both = newCheckpoint()
    run(other.rows(spark).union(clock.rows(spark)), both)
    assertEquals(batchesIn(both, "commits"), Seq("0", "1"))
    assertEquals(clock.calls.filter(_.startsWith("latest")).distinct, Seq("latest from 0"))
  }

  canary(
    "An offset that has advanced starts a batch even without rows, and an availableNow run ends " +
      "once no offset has advanced.",
    "ClockStream.scala") {
    val clock = new Feed() {
      override def next(from: Long): Option[Long] = Some(math.min(from + 1, 3L))
    }
    val checkpoint = newCheckpoint()
    run(clock.rows(spark), checkpoint)
    assertEquals(batchesIn(checkpoint, "commits"), Seq("0", "1", "2"))
    assertEquals(
      clock.calls.filter(_.startsWith("latest")),
      (0 to 3).map(from => s"latest from $from"))
  }

  canary(
    "An availableNow run prepares each source before it asks for the first offset. Another run " +
      "does not.",
    "ClockStream.scala") {
    val feed = new Feed(oneRow)
    run(feed.rows(spark))
    assertEquals(feed.calls.slice(1, 3), Seq("prepared", "latest from 0"))

    val endless = new Feed(oneRow)
    val query = start(endless.rows(spark), newCheckpoint(), Trigger.ProcessingTime(0L))
    try query.processAllAvailable()
    finally query.stop()
    assertEquals(endless.calls.slice(1, 2), Seq("latest from 0"))
  }

  canary(
    "If one source of an availableNow run does not support it, Spark prepares no source, and " +
      "the run keeps its trigger.",
    "ClockStream.scala") {
    var triggers = Set.empty[Trigger]
    val feed = new Feed(oneRow, oneRow) {
      override def next(from: Long): Option[Long] = {
        triggers += runningQuery.trigger
        super.next(from)
      }
    }
    val plain = new Feed(oneRow).rows(spark, knowsAvailableNow = false)
    run(feed.rows(spark).union(plain))
    assertEquals(triggers, Set(Trigger.AvailableNow()))
    assertEquals(feed.calls.filter(_ == "prepared"), Nil)
  }

  canary(
    "The query tells of each source where the running batch begins and ends, and which offset " +
      "the source reported last. While Spark asks for offsets, the batch before has ended.",
    "ClockStream.scala") {
    def offsetsOf(progress: StreamExecution => StreamProgress): String =
      progress(runningQuery).map(_._2.json).mkString
    var ends = Seq.empty[String]
    val feed = new Feed(oneRow, oneRow, oneRow) {
      override def next(from: Long): Option[Long] = {
        ends :+= offsetsOf(_.getStartOffsetsOfLatestBatch)
        super.next(from)
      }
    }
    def note(node: SparkPlan): Unit = {
      val (start, end) =
        (offsetsOf(_.getStartOffsetsOfLatestBatch), offsetsOf(_.availableOffsets))
      Journal.add(
        runningQuery.lastExecution.currentBatchId,
        s"from $start to $end of ${offsetsOf(_.latestOffsets)}")
    }
    Probe.watch("input", Probe.Watcher(onExecute = note))
    run(Probe.input(feed.rows(spark)))
    assertEquals(ends, Seq("", "1", "2", "3"))
    assertEquals(
      Journal.all.distinct,
      Seq(0L -> "from  to 1 of 3", 1L -> "from 1 to 2 of 3", 2L -> "from 2 to 3 of 3"))
  }

  canary(
    "The metadata path of the source with number n is sources/n in the checkpoint.",
    "Clock.scala") {
    val (first, second) = (new Feed(oneRow), new Feed(oneRow))
    val checkpoint = newCheckpoint()
    run(first.rows(spark).union(second.rows(spark)), checkpoint)
    assertEquals(metadataPath(first), checkpoint.resolve("sources/0").toString)
    assertEquals(metadataPath(second), checkpoint.resolve("sources/1").toString)
  }

  private def metadataPath(feed: Feed): String =
    Path.of(java.net.URI.create(feed.calls.head.stripPrefix("metadata "))).toString
}
