package org.apache.spark.sql.transom.canary

import java.nio.file.{Files, Path, Paths}
import java.util.UUID

import scala.concurrent.duration.{Duration, MILLISECONDS}
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import munit.FunSuite
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryProgress, Trigger}
import org.apache.spark.sql.transom.TestSession

/** Canary tests: each states one behaviour of Spark's internals that transom relies on.
  *
  * The link check finds members that a new Spark lacks. A canary finds members that behave
  * differently. Canaries use plan nodes and sources of their own, so a failure is due to Spark
  * and not to a change of transom.
  */
abstract class CanarySuite extends FunSuite {
  protected def spark: SparkSession = CanarySuite.spark

  // A busy machine takes more than the 30 seconds that are usual for a test.
  override def munitTimeout: Duration = Duration(CanarySuite.LongestRunMs, MILLISECONDS)

  /** Declares a canary.
    *
    * @param fact
    *   what Spark does; docs/how-it-works.md lists it in the same words
    * @param usedBy
    *   the source files that rely on the fact
    */
  protected def canary(fact: String, usedBy: String*)(body: => Unit): Unit = test(fact) {
    assertEquals(usedBy.filterNot(CanarySuite.sources), Nil, "these source files do not exist")
    Journal.clear()
    Probe.unwatch()
    try body
    catch {
      case NonFatal(e) =>
        throw new AssertionError(
          s"Spark ${spark.version} behaves differently. transom relies on this fact: $fact " +
            s"Check ${usedBy.mkString(", ")} before you support this Spark. ${e.getMessage}",
          e)
    }
  }

  /** Runs `body` with another number of shuffle partitions for new queries. */
  protected def withPartitions[T](partitions: Int)(body: => T): T = {
    val before = spark.conf.get(SQLConf.SHUFFLE_PARTITIONS.key)
    spark.conf.set(SQLConf.SHUFFLE_PARTITIONS.key, partitions.toString)
    try body
    finally spark.conf.set(SQLConf.SHUFFLE_PARTITIONS.key, before)
  }

  protected def newCheckpoint(): Path = Files.createTempDirectory("canary").toRealPath()

  protected def start(
      rows: DataFrame,
      checkpoint: Path,
      trigger: Trigger = Trigger.AvailableNow()): StreamingQuery =
    rows.writeStream
      .format("noop")
      .option("checkpointLocation", checkpoint.toString)
      .trigger(trigger)
      .start()

  /** Runs a query over all batches of its sources, to its end. */
  protected def run(
      rows: DataFrame,
      checkpoint: Path = newCheckpoint()): Seq[StreamingQueryProgress] = {
    val query = start(rows, checkpoint)
    try assert(query.awaitTermination(CanarySuite.LongestRunMs), "the query did not end")
    finally query.stop()
    query.recentProgress.toSeq
  }

  /** The names of the batch files in a log of a checkpoint. */
  protected def batchesIn(checkpoint: Path, log: String): Seq[String] = {
    val directory = checkpoint.resolve(log)
    if (!Files.exists(directory)) Nil
    else
      scala.util.Using.resource(Files.list(directory)) { files =>
        files.iterator.asScala
          .map(_.getFileName.toString)
          .filter(_.forall(_.isDigit))
          .toSeq
          .sorted
      }
  }

  /** The query that runs on the current thread, found as transom finds it. */
  protected def runningQuery: StreamExecution = {
    val id = spark.sparkContext.getLocalProperty(StreamExecution.QUERY_ID_KEY)
    spark.sharedState.activeStreamingQueries.get(UUID.fromString(id))
  }
}

private object CanarySuite {
  final val LongestRunMs = 120000L

  lazy val spark: SparkSession = {
    val session = TestSession.spark
    session.experimental.extraStrategies = Seq(ProbeStrategy)
    session
  }

  /** The names of transom's source files. */
  lazy val sources: Set[String] =
    Seq("jvm/engine/src/main", "jvm/spark/src/main").flatMap { directory =>
      scala.util.Using.resource(Files.walk(Paths.get(directory))) { files =>
        files.iterator.asScala.map(_.getFileName.toString).toSeq
      }
    }.toSet
}
