package org.apache.spark.sql.transom.canary

import java.time.Instant

import scala.util.Try

import org.apache.spark.{SPARK_VERSION, TaskContext}
import org.apache.spark.sql.{DataFrame, Encoders, ForeachWriter, Row}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper
import org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream
import org.apache.spark.sql.functions.{col, timestamp_millis}
import org.apache.spark.sql.streaming._
import org.apache.spark.util.VersionUtils

/** How Spark runs stateful operators in Real-Time Mode. Spark 4.2 runs none there. */
class RealTimeSuite extends CanarySuite {
  import RealTimeSuite._

  override def munitTests(): Seq[Test] =
    if (VersionUtils.majorMinorVersion(SPARK_VERSION) != (4, 2)) super.munitTests()
    else super.munitTests().map(_.tag(munit.Ignore))

  /** Runs a query over the numbers, in as many batches as there are lists. */
  private def run(query: DataFrame => DataFrame, batches: Seq[Long]*): StreamingQueryWrapper = {
    val source = LowLatencyMemoryStream[Long](spark, 1)(Encoders.scalaLong)
    val shortest = "spark.sql.streaming.realTimeMode.minBatchDuration"
    spark.conf.set(shortest, "500")
    val running =
      try
        query(source.toDF()).writeStream
          .foreach(new Forgets)
          .outputMode(OutputMode.Update())
          .option("checkpointLocation", newCheckpoint().toString)
          .trigger(Trigger.RealTime("500 milliseconds"))
          .start()
      finally spark.conf.unset(shortest)
    try
      batches.foldLeft(0) { (before, batch) =>
        source.addData(0, batch)
        val read = before + batch.length
        while (!hasRead(running, read))
          assert(!running.awaitTermination(10), "the query has stopped")
        read
      }: Unit
    finally running.stop()
    running.asInstanceOf[StreamingQueryWrapper]
  }

  private def hasRead(query: StreamingQuery, rows: Int): Boolean = {
    val progress = query.lastProgress
    progress != null && progress.sources.head.endOffset == s"""{"0":$rows}"""
  }

  /** Sends each number to its key group, and -1 to all key groups after the last number. */
  private def grouped(rows: DataFrame, processor: NumberProcessor): DataFrame =
    rows
      .as(Encoders.scalaLong)
      .mapPartitions { numbers =>
        numbers.map(n => ((n % Groups).toInt, n)) ++ (0 until Groups).iterator.map((_, End))
      }(Encoders.product[(Int, Long)])
      .toDF("group", "n")
      .groupBy("group")
      .as[Int, (Int, Long)](Encoders.scalaInt, Encoders.product[(Int, Long)])
      .transformWithState(processor, TimeMode.None(), OutputMode.Update())(Encoders.scalaLong)
      .toDF()

  canary(
    "Spark allows the operators of which the plan of windows consists in Real-Time Mode.",
    "RealTimeOperator.scala") {
    val query = run(rows => grouped(rows, new Echoes), Seq(1L))
    val nodes = query.streamingQuery.lastExecution.executedPlan.collect { case node =>
      node.getClass.getSimpleName
    }
    val needed = Set(
      "ProjectExec",
      "DeserializeToObjectExec",
      "MapPartitionsExec",
      "SerializeFromObjectExec",
      "ShuffleExchangeExec",
      "TransformWithStateExec")
    assertEquals(needed -- nodes, Set.empty[String])
  }

  canary(
    "In Real-Time Mode, a stateful processor receives each row in a call of its own.",
    "RealTimeProcessor.scala") {
    run(rows => grouped(rows, new CountsRows), 0L until 10L): Unit
    assertEquals(Journal.all.map(_._2).toSet, Set("1"))
  }

  canary(
    "In Real-Time Mode, a task may send rows after the last row of its source. They are " +
      "processed in the same batch, and the state that they write is committed.",
    "SourceTask.scala",
    "RealTimeProcessor.scala") {
    run(rows => grouped(rows, new SumsAtEnd), Seq(1L, 2L, 3L), Seq(4L)): Unit
    val sums = Journal.all.map(_._2)
    assertEquals(sums.filter(_.endsWith(" in 3 numbers")).distinct, Seq("6 in 3 numbers"))
    assertEquals(sums.last, "10 in 4 numbers")
  }

  canary(
    "In Real-Time Mode, Spark commits the state of a batch before it closes the processor. What " +
      "the processor writes when it is closed is lost.",
    "RealTimeProcessor.scala") {
    run(rows => grouped(rows, new WritesAtClose), Seq(1L), Seq(2L)): Unit
    val found = Journal.all.map(_._2)
    assert(found.contains("closed"), found)
    assertEquals(found.toSet - "closed", Set("empty"))
  }

  canary(
    "In Real-Time Mode, the rows that a task sends to another arrive in their order.",
    "SourceTask.scala",
    "RealTimeProcessor.scala") {
    run(rows => grouped(rows, new NotesNumbers), 0L until 3000L): Unit
    val byBatch = Journal.all.groupBy(_._1).values.map(_.map(_._2.toLong))
    byBatch.foreach { numbers =>
      val (sent, ends) = numbers.span(_ != End)
      assertEquals(sent, sent.sorted)
      assertEquals(ends.toSet - End, Set.empty[Long])
    }
    assertEquals(byBatch.flatten.count(_ != End), 3000)
  }

  canary(
    "In Real-Time Mode, the watermark at the start of a batch is the latest time of all rows of " +
      "the batches before, minus the delay.",
    "RealTimeOperator.scala") {
    def timed(rows: DataFrame) =
      rows.select(timestamp_millis(col("value")).as("at")).withWatermark("at", "1 second")
    val query = run(timed, Seq(5000L, 9000L, 7000L), Seq(2000L), Seq(3000L))
    val progress = query.recentProgress.toSeq.filter(_.numInputRows > 0)
    assertEquals(progress.map(_.numInputRows), Seq(3L, 1L, 1L))
    assertEquals(
      progress.map(of => Instant.parse(of.eventTime.get("watermark")).toEpochMilli),
      Seq(0L, 8000L, 8000L))
    val last = query.streamingQuery.lastExecution.offsetSeqMetadata.batchWatermarkMs
    assertEquals(last, 8000L)
  }
}

private object RealTimeSuite {
  val Groups = 3

  /** Follows the last number. */
  val End: Long = -1L

  /** A sink that Spark allows in Real-Time Mode. */
  final class Forgets extends ForeachWriter[Row] {
    override def open(partition: Long, epoch: Long): Boolean = true
    override def process(row: Row): Unit = ()
    override def close(error: Throwable): Unit = ()
  }

  abstract class NumberProcessor extends StatefulProcessor[Int, (Int, Long), Long] {
    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = ()
  }

  final class Echoes extends NumberProcessor {
    override def handleInputRows(
        group: Int,
        rows: Iterator[(Int, Long)],
        timerValues: TimerValues): Iterator[Long] = rows.map(_._2)
  }

  final class CountsRows extends NumberProcessor {
    override def handleInputRows(
        group: Int,
        rows: Iterator[(Int, Long)],
        timerValues: TimerValues): Iterator[Long] = {
      Journal.add(rows.size.toString)
      Iterator.empty
    }
  }

  final class NotesNumbers extends NumberProcessor {
    override def handleInputRows(
        group: Int,
        rows: Iterator[(Int, Long)],
        timerValues: TimerValues): Iterator[Long] = {
      rows.foreach { case (_, n) => Journal.add(n.toString) }
      Iterator.empty
    }
  }

  /** Writes the state when it is closed, and notes what it finds there with each number. */
  final class WritesAtClose extends NumberProcessor {
    @transient private var stored: ValueState[Long] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
      stored = getHandle.getValueState("written", Encoders.scalaLong, TTLConfig.NONE)

    override def handleInputRows(
        group: Int,
        rows: Iterator[(Int, Long)],
        timerValues: TimerValues): Iterator[Long] = {
      rows.foreach(_ => Journal.add(if (stored.exists()) "written" else "empty"))
      Iterator.empty
    }

    // The driver has an instance too, which it closes outside of any task.
    override def close(): Unit = if (TaskContext.get() != null) {
      Journal.add("closed")
      (0 until Groups).foreach { group =>
        ImplicitGroupingKeyTracker.setImplicitKey(group)
        // Some version of Spark may refuse the write.
        Try(stored.update(1L))
      }
    }
  }

  /** Keeps the sum of the numbers of all key groups on the heap, and writes it at the end. */
  final class SumsAtEnd extends NumberProcessor {
    @transient private var stored: ValueState[(Int, Long)] = _
    private var numbers = 0
    private var sum = 0L

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
      stored = getHandle.getValueState("sum", Encoders.product[(Int, Long)], TTLConfig.NONE)

    override def handleInputRows(
        group: Int,
        rows: Iterator[(Int, Long)],
        timerValues: TimerValues): Iterator[Long] = {
      rows.foreach {
        case (0, End) =>
          val (numbersBefore, sumBefore) = if (stored.exists()) stored.get() else (0, 0L)
          val total = (numbersBefore + numbers, sumBefore + sum)
          stored.update(total)
          Journal.add(s"${total._2} in ${total._1} numbers")
        case (_, End) => ()
        case (_, n) =>
          numbers += 1
          sum += n
      }
      Iterator.empty
    }
  }
}
