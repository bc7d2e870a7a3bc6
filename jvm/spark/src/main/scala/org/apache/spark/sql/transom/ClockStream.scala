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
  */
final class DrainClock(session: SparkSession, checkpoint: Path, operator: String)
    extends ClockStream(session) {
  import ClockPhase._

  private var lastInputs: Option[Map[SparkDataStream, String]] = None
  private var inputsBeforeFiring: Option[Map[SparkDataStream, String]] = None

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
      case Ended => at.next(Fired)
      // Rows that came with the last batch of a run that had been cut short may be followed by more.
      case Fired if !(isFinite && inputsBeforeFiring.contains(inputs)) =>
        throw new TransomException("TRANSOM_DRAINED", Map("checkpoint" -> checkpoint.toString))
      case _ => at
    }
  }

  override def planInputPartitions(from: Offset, to: Offset): Array[InputPartition] = {
    if (to.asInstanceOf[ClockOffset].phase == Fired) inputsBeforeFiring = Some(inputsSoFar())
    super.planInputPartitions(from, to)
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

  private def cannotDrain(why: String): TransomException =
    new TransomException("TRANSOM_CANNOT_DRAIN", Map("operator" -> operator, "why" -> why))
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
