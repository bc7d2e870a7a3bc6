package org.apache.spark.sql.transom

import java.util.UUID

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.streaming.Trigger

import transom.spark.TransomException

/** A clock of one query. A batch in which it stands still has none of its rows. */
sealed abstract class ClockStream(session: SparkSession)
    extends MicroBatchStream
    with SupportsTriggerAvailableNow {

  /** Whether the run is an `availableNow` one, so that the clock can keep it going. */
  protected var isFinite = false

  protected final def running: StreamExecution = {
    val id = session.sparkContext.getLocalProperty(StreamExecution.QUERY_ID_KEY)
    session.sharedState.activeStreamingQueries.get(UUID.fromString(id))
  }

  protected def query: StreamExecution

  /** Where the clock goes in the batch that is being made. */
  protected def next(at: ClockOffset): ClockOffset

  /** What has been read from the other sources before the batch that is being made. */
  protected final def inputsSoFar(): Map[SparkDataStream, String] =
    query.getStartOffsetsOfLatestBatch.iterator.collect {
      case (source, offset) if !source.isInstanceOf[ClockStream] => source -> offset.json
    }.toMap

  override def prepareForTriggerAvailableNow(): Unit = isFinite = true

  override def initialOffset(): Offset = ClockOffset.start
  override def deserializeOffset(json: String): Offset = ClockOffset.ofJson(json)

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks for the offset after a given one")

  override def latestOffset(from: Offset, limit: ReadLimit): Offset =
    next(from.asInstanceOf[ClockOffset]) match {
      // Null is no offset: the clock then gives a query that starts no reason to run a batch.
      case ClockOffset.start => null
      case offset => offset
    }

  override def planInputPartitions(from: Offset, to: Offset): Array[InputPartition] =
    to.asInstanceOf[ClockOffset] match {
      case ClockOffset(tick, ClockPhase.Ended | ClockPhase.Ticked) => Array(ClockRow(tick))
      case _ => Array.empty
    }

  override def createReaderFactory(): PartitionReaderFactory = ClockReaderFactory

  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
  override def toString: String = "transom clock"
}

/** Tells a query when its input is over.
  *
  * While an `availableNow` run has input, each batch moves the clock by a tick, without a row, so
  * that the run goes on until a batch has brought nothing from any other source. The next batch
  * brings the control row, and the one after that fires all windows: its watermark is the end of
  * time. The last phase, in the checkpoint, marks the checkpoint as drained. In any other run it
  * sends nothing.
  *
  * The clock sends the control row again if the watermark has not reached the end of time. That
  * happens after a crash: a sink skips a batch that it had committed before, so the plan of the
  * repeated batch does not run, and Spark loses the watermark that the batch had computed.
  */
final class DrainClock(session: SparkSession, checkpoint: Path, operator: String)
    extends ClockStream(session) {
  import ClockPhase._

  private var lastInputs: Option[Map[SparkDataStream, String]] = None
  private var hasSentAgain = false

  override protected lazy val query: StreamExecution = {
    refuseWatermarksWithoutClock(running.logicalPlan)
    if (!isFinite && running.trigger == Trigger.AvailableNow())
      throw cannotDrain(
        "one of its sources does not know availableNow, so that Spark runs it as a single batch. Read " +
          "from a source that does")
    running
  }

  override protected def next(at: ClockOffset): ClockOffset = {
    val inputs = inputsSoFar()
    at.phase match {
      case Open if isFinite =>
        val isOver = lastInputs.contains(inputs)
        lastInputs = Some(inputs)
        at.next(if (isOver) Ended else Open)
      case Ended if isWatermarkAtEnd => at.next(Fired)
      case Ended => sendAgain(at)
      // An availableNow run that finds no input ends, as any run over a finished job does.
      case Fired if !isFinite => throw DrainClock.isDrained(checkpoint)
      case _ => at
    }
  }

  /** Whether Spark fires by the end of time from the next batch on. */
  private def isWatermarkAtEnd: Boolean =
    query.commitLog.getLatest().exists { case (_, batch) =>
      batch.nextBatchWatermarkMs >= Drain.EndMs
    }

  private def sendAgain(at: ClockOffset): ClockOffset = {
    // Only a batch that an earlier run began can have been skipped, and that is the first of a run.
    if (hasSentAgain)
      throw cannotDrain(
        "the batch with the control row was not computed to its end. A function of foreachBatch has to " +
          "read all rows of each batch")
    hasSentAgain = true
    at.next(Ended)
  }

  /** A watermark that stays where it is would hold back all others, and nothing would fire. */
  private def refuseWatermarksWithoutClock(plan: LogicalPlan): Unit = {
    val withClock = Drain.watermarksWithClock(plan)
    plan.foreach {
      case w: EventTimeWatermark if !withClock(w.nodeId) =>
        throw cannotDrain(
          s"the watermark on ${w.eventTime.name} does not lead to the stage $operator and would stay where " +
            "it is. Drain the last stage that all watermarks of the query lead to")
      case _ =>
    }
  }

  private def cannotDrain(why: String): TransomException = Drain.refusal(operator, why)
}

object DrainClock {

  /** Refuses a batch that brings rows to a checkpoint whose windows have all fired. Called for
    * each batch, on the driver.
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

/** Tells a query that the wall clock has come to a multiple of a period: what is due by then is
  * due for all keys. The clock itself is that of the batch, which Spark keeps with the offsets.
  *
  * There is one tick a batch and a period at the most, and none while unread rows may lie in the
  * inputs: they will have come before it. An `availableNow` run has a single one, at its end.
  */
final class TickClock(session: SparkSession, periodUs: Long) extends ClockStream(session) {
  import ClockPhase._

  private var lastInputs: Option[Map[SparkDataStream, String]] = None
  private var lastTick = Long.MinValue
  private var hasEnded = false

  override protected lazy val query: StreamExecution = running

  override protected def next(at: ClockOffset): ClockOffset = {
    val inputs = inputsSoFar()
    // Neither the batch before nor a look since then has brought a row.
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

  private def nextOfFinite(at: ClockOffset, isQuiet: Boolean): ClockOffset =
    if (!isQuiet) at.next(Open)
    else if (hasEnded) at
    else {
      hasEnded = true
      at.next(Ticked)
    }

  /** Whether an input that is read in parts is not known to be at its end. */
  private def mayBeBehind(inputs: Map[SparkDataStream, String]): Boolean =
    // Nothing is known before a first look at them.
    inputs.isEmpty || inputs.exists {
      case (source: SupportsAdmissionControl, read) =>
        !source.getDefaultReadLimit.isInstanceOf[ReadAllAvailable] &&
        !query.latestOffsets.get(source).exists(_.json == read)
      case _ => false
    }
}
