package org.apache.spark.sql.transom.clock

import java.util.UUID

import org.apache.hadoop.fs.Path
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.transom.batch.LateWatermark
import org.apache.spark.sql.transom.error.TransomException

/** The stream of a clock source in one query. Its offset advances to send a signal.
  *
  * A batch reads one row if the clock advances to `Ended` or `Ticked` in it, and no row
  * otherwise.
  */
sealed abstract class ClockStream(session: SparkSession)
    extends MicroBatchStream
    with SupportsTriggerAvailableNow {

  /** Whether this is an `availableNow` run, which ends unless the offset of some source advances.
    */
  protected var isFinite = false

  /** The query that runs on the current thread. */
  protected final def running: StreamExecution = {
    val id = session.sparkContext.getLocalProperty(StreamExecution.QUERY_ID_KEY)
    session.sharedState.activeStreamingQueries.get(UUID.fromString(id))
  }

  /** The query of this clock. Subclasses may check its plan on first use. */
  protected def query: StreamExecution

  /** The offset of the clock at the end of the next batch. */
  protected def next(at: ClockOffset): ClockOffset

  /** The offsets that earlier batches have reached in the other sources, as JSON. */
  protected final def readOffsets(): Map[SparkDataStream, String] =
    query.getStartOffsetsOfLatestBatch.iterator
      .filterNot { case (source, _) => source.isInstanceOf[ClockStream] }
      .map { case (source, offset) => source -> offset.json }
      .toMap

  override def prepareForTriggerAvailableNow(): Unit = isFinite = true

  override def initialOffset(): Offset = ClockOffset.start
  override def deserializeOffset(json: String): Offset = ClockOffset.ofJson(json)

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("call latestOffset with a start offset and a limit")

  override def latestOffset(from: Offset, limit: ReadLimit): Offset =
    next(from.asInstanceOf[ClockOffset]) match {
      // Null means that there is no offset, so the clock alone does not start the first batch.
      case ClockOffset.start => null
      case offset => offset
    }

  override def planInputPartitions(from: Offset, to: Offset): Array[InputPartition] =
    to.asInstanceOf[ClockOffset] match {
      case ClockOffset(tick, ClockPhase.Ended | ClockPhase.Ticked) => Array(new ClockRow(tick))
      case _ => Array.empty
    }

  override def createReaderFactory(): PartitionReaderFactory = ClockReaderFactory

  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
  override def toString: String = "transom clock"
}

/** Signals to a query that its input has ended.
  *
  * During an `availableNow` run each batch with input advances the clock without a row. The run
  * therefore continues until a batch has read nothing from any other source. The next batch reads
  * the control row. The batch after that fires all windows, because its watermark is the end of
  * time. The checkpoint stores the last phase, which marks the checkpoint as drained.
  *
  * Runs with other triggers never start to drain. A restarted run with any trigger finishes a
  * drain that has begun.
  *
  * The clock sends the control row again if the watermark has not reached the end of time. A
  * crash can cause this. The sink skips a replayed batch that it had committed, so the plan of
  * the batch does not run. Spark then loses the watermark that the batch had computed.
  *
  * @param operator
  *   name of the operator, for error messages
  */
final class DrainClock(session: SparkSession, checkpoint: Path, operator: String)
    extends ClockStream(session)
    with Logging {
  import ClockPhase._

  private var lastInputs: Option[Map[SparkDataStream, String]] = None
  private var hasSentAgain = false

  override protected lazy val query: StreamExecution = {
    refuseWatermarksWithoutClock(running.logicalPlan)
    if (!isFinite && running.trigger == Trigger.AvailableNow())
      throw cannotDrain(
        "one of its sources does not support availableNow, so Spark runs it as a single batch",
        "Use sources that support availableNow")
    if (isFinite)
      logWarning(
        s"The window operator $operator drains this query: when the run has read its input, all " +
          s"open windows fire, and the checkpoint $checkpoint accepts no further rows. If the " +
          "stream goes on, stop the run, and start it without drain() and with a new checkpoint.")
    running
  }

  override protected def next(at: ClockOffset): ClockOffset = {
    val inputs = readOffsets()
    at.phase match {
      case Open if isFinite =>
        val isOver = lastInputs.contains(inputs)
        lastInputs = Some(inputs)
        at.next(if (isOver) Ended else Open)
      case Ended if isWatermarkAtEnd => at.next(Fired)
      case Ended => sendAgain(at)
      // An `availableNow` run without input ends normally. A run with another trigger would wait
      // for input that the checkpoint can no longer accept.
      case Fired if !isFinite => throw DrainClock.isDrained(checkpoint)
      case _ => at
    }
  }

  /** Whether the event watermark of the next batch is the end of time. */
  private def isWatermarkAtEnd: Boolean =
    query.commitLog.getLatest().exists { case (_, batch) =>
      batch.nextBatchWatermarkMs >= Drain.EndMs
    }

  private def sendAgain(at: ClockOffset): ClockOffset = {
    // A sink skips only a batch that an earlier run began. Such a batch is the first of this run,
    // so the control row is sent again at most once.
    if (hasSentAgain)
      throw cannotDrain(
        "the batch that ends the stream was not computed completely",
        "Make the foreachBatch function read all rows of each batch")
    hasSentAgain = true
    at.next(Ended)
  }

  /** Throws if the plan has a watermark that no clock moves. Such a watermark would hold back all
    * others, and no window would fire.
    */
  private def refuseWatermarksWithoutClock(plan: LogicalPlan): Unit = {
    val withClock = Drain.watermarksWithClock(plan)
    plan.foreach {
      case w: EventTimeWatermark if !withClock(w.nodeId) =>
        throw cannotDrain(
          s"the watermark on ${w.eventTime.name} does not lead to this operator, so it would " +
            "hold all other watermarks back",
          "Drain the last window operator that all watermarks of the query lead to")
      case _ =>
    }
  }

  private def cannotDrain(why: String, fix: String): TransomException =
    Drain.refusal(operator, why, fix)
}

/** Checks whether a checkpoint has been drained. */
object DrainClock {

  /** Throws if a batch has input although all windows of the checkpoint have fired. Called on the
    * driver for each batch.
    */
  def refuseRowsAfterEnd(session: SparkSession): Unit =
    LateWatermark.runningQuery(session).foreach { query =>
      val before = query.getStartOffsetsOfLatestBatch
      val isOver = before.exists {
        case (_: DrainClock, at) => ClockOffset.ofJson(at.json).phase == ClockPhase.Fired
        case _ => false
      }
      def hasRows = query.availableOffsets.exists { case (source, until) =>
        !source.isInstanceOf[ClockStream] && !before.get(source).exists(_.json == until.json)
      }
      if (isOver && hasRows) throw isDrained(new Path(query.resolvedCheckpointRoot))
    }

  private def isDrained(checkpoint: Path): TransomException =
    new TransomException("TRANSOM_DRAINED", Map("checkpoint" -> checkpoint.toString))
}

/** Signals to a query that the wall clock has reached a multiple of a period.
  *
  * Each tick expires the processing-time timers of all keys. The processing time is the timestamp
  * of the batch, which Spark stores with the offsets.
  *
  * There is at most one tick per batch and per period. The clock does not tick while the inputs
  * may hold unread rows, because these rows arrived before the tick. An `availableNow` run has a
  * single tick, at its end.
  *
  * @param periodUs
  *   period of the ticks, microseconds
  */
final class TickClock(session: SparkSession, periodUs: Long)
    extends ClockStream(session)
    with SupportsRealTimeMode {
  import ClockPhase._

  private var lastInputs: Option[Map[SparkDataStream, String]] = None
  private var lastTick = Long.MinValue
  private var hasEnded = false
  private var isRealTime = false

  override protected lazy val query: StreamExecution = running

  override protected def next(at: ClockOffset): ClockOffset = {
    val inputs = readOffsets()
    // No input has advanced since the previous call.
    val isQuiet = lastInputs.contains(inputs)
    lastInputs = Some(inputs)
    if (isFinite) nextOfFinite(at, isQuiet)
    else {
      val tick = Math.floorDiv(query.triggerClock.getTimeMillis() * 1000L, periodUs)
      if (tick > lastTick && (isQuiet || !mayBeBehind(inputs))) {
        lastTick = tick
        at.next(Ticked)
      } else at
    }
  }

  override def prepareForRealTimeMode(): Unit = isRealTime = true

  // In Real-Time Mode a clock has an offset before its first tick. Otherwise Spark would read a
  // clock without one as an empty input.
  override def latestOffset(from: Offset, limit: ReadLimit): Offset =
    if (isRealTime) from else super.latestOffset(from, limit)

  override def planInputPartitions(from: Offset): Array[InputPartition] =
    Array(new ClockTicks(from.asInstanceOf[ClockOffset], math.max(1L, periodUs / 1000L)))

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset =
    offsets.collect { case reached: ClockReached => reached.offset }.maxBy(_.tick)

  private def nextOfFinite(at: ClockOffset, isQuiet: Boolean): ClockOffset =
    if (!isQuiet) at.next(Open)
    else if (hasEnded) at
    else {
      hasEnded = true
      at.next(Ticked)
    }

  /** Whether a source with a read limit may have unread rows. */
  private def mayBeBehind(inputs: Map[SparkDataStream, String]): Boolean =
    // The offsets of the sources are unknown before the first batch.
    inputs.isEmpty || inputs.exists {
      case (source: SupportsAdmissionControl, read) =>
        !source.getDefaultReadLimit.isInstanceOf[ReadAllAvailable] &&
        !query.latestOffsets.get(source).exists(_.json == read)
      case _ => false
    }
}
