package org.apache.spark.sql.transom

import java.util
import java.util.UUID

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SparkDataStream, SupportsTriggerAvailableNow}
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import transom.spark.TransomException

/** A source that tells a query when its input is over: in an `availableNow` run it sends one row
  * behind all that the other sources send, in any other run nothing.
  */
final class ClockSource extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = ClockSource.schema

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]): Table = ClockTable
}

object ClockSource {
  val OperatorOption = "operator"
  val schema: StructType = new StructType().add("tick", LongType, nullable = false)
}

private object ClockTable extends Table with SupportsRead {
  override def name: String = "clock"
  override def schema: StructType = ClockSource.schema
  override def capabilities: util.Set[TableCapability] =
    util.Set.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan {
      override def readSchema(): StructType = ClockSource.schema

      override def toMicroBatchStream(metadata: String): MicroBatchStream = {
        val operator = options.get(ClockSource.OperatorOption)
        // Spark gives each source of a query the directory <checkpoint>/sources/<number>.
        val checkpoint = new Path(metadata).getParent.getParent
        val session = SparkSession.active
        CheckpointedSpec.refuseNewDrain(session, checkpoint, operator)
        new ClockStream(session, checkpoint, operator)
      }
    }
}

/** How far a query is on the way to its end. */
sealed abstract class ClockPhase(val name: String)

object ClockPhase {

  /** Rows may come. */
  case object Open extends ClockPhase("open")

  /** The control row has been sent: the watermark is at the end of time from the next batch on.
    */
  case object Ended extends ClockPhase("ended")

  /** The batch in which all windows fire has been begun. */
  case object Fired extends ClockPhase("fired")

  val all: Seq[ClockPhase] = Seq(Open, Ended, Fired)
}

/** Where the clock stands. It lies in the checkpoint's offsets, so it is exact after any crash.
  */
final case class ClockOffset(tick: Long, phase: ClockPhase) extends Offset {
  override def json: String = s"""{"tick":$tick,"phase":"${phase.name}"}"""

  def next(phase: ClockPhase): ClockOffset = ClockOffset(tick + 1, phase)
}

object ClockOffset {
  val start: ClockOffset = ClockOffset(0L, ClockPhase.Open)

  private val mapper = new ObjectMapper()

  def ofJson(json: String): ClockOffset = {
    val node = mapper.readTree(json)
    val phase = ClockPhase.all.find(_.name == node.get("phase").asText).get
    ClockOffset(node.get("tick").asLong, phase)
  }
}

/** The clock of one query.
  *
  * While an `availableNow` run has input, each batch moves the clock by a tick, without a row, so
  * that the run goes on until a batch has brought nothing from any other source. The next batch
  * brings the control row, and the one after that fires all windows: its watermark is the end of
  * time. The last phase, in the checkpoint, marks the checkpoint as drained.
  */
final class ClockStream(session: SparkSession, checkpoint: Path, operator: String)
    extends MicroBatchStream
    with SupportsTriggerAvailableNow {

  import ClockPhase._

  private var isDraining = false
  private var lastInputs: Option[Map[SparkDataStream, String]] = None
  private var inputsBeforeFiring: Option[Map[SparkDataStream, String]] = None
  private lazy val query: StreamExecution = {
    val id = session.sparkContext.getLocalProperty(StreamExecution.QUERY_ID_KEY)
    val running = session.sharedState.activeStreamingQueries.get(UUID.fromString(id))
    refuseWatermarksWithoutClock(running.logicalPlan)
    if (!isDraining && running.trigger == Trigger.AvailableNow())
      throw cannotDrain(
        "one of its sources does not know availableNow, so that Spark runs it as a single batch. Read " +
          "from a source that does")
    running
  }

  override def prepareForTriggerAvailableNow(): Unit = isDraining = true

  override def initialOffset(): Offset = ClockOffset.start
  override def deserializeOffset(json: String): Offset = ClockOffset.ofJson(json)

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks for the offset after a given one")

  override def latestOffset(from: Offset, limit: ReadLimit): Offset = {
    val inputs = inputsSoFar()
    from.asInstanceOf[ClockOffset] match {
      case at @ ClockOffset(_, Open) if isDraining =>
        val isOver = lastInputs.contains(inputs)
        lastInputs = Some(inputs)
        at.next(if (isOver) Ended else Open)
      // Null is no offset: the clock then gives a query that starts no reason to run a batch.
      case ClockOffset.start => null
      case at @ ClockOffset(_, Open) => at
      case at @ ClockOffset(_, Ended) => at.next(Fired)
      // Rows that came with the last batch of a run that had been cut short may be followed by more.
      case at if isDraining && inputsBeforeFiring.contains(inputs) => at
      case _ =>
        throw new TransomException("TRANSOM_DRAINED", Map("checkpoint" -> checkpoint.toString))
    }
  }

  /** What has been read from the other sources before the batch that is being made. */
  private def inputsSoFar(): Map[SparkDataStream, String] =
    query.getStartOffsetsOfLatestBatch.iterator.collect {
      case (source, offset) if !source.isInstanceOf[ClockStream] => source -> offset.json
    }.toMap

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

  override def planInputPartitions(from: Offset, to: Offset): Array[InputPartition] = {
    val ClockOffset(tick, phase) = to.asInstanceOf[ClockOffset]
    if (phase == Fired) inputsBeforeFiring = Some(inputsSoFar())
    if (phase == Ended) Array(ClockRow(tick)) else Array.empty
  }

  override def createReaderFactory(): PartitionReaderFactory = ClockReaderFactory

  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
  override def toString: String = "transom clock"
}

private final case class ClockRow(tick: Long) extends InputPartition

private object ClockReaderFactory extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val ClockRow(tick) = partition: @unchecked
    new PartitionReader[InternalRow] {
      private var isBefore = true
      override def next(): Boolean = {
        val hasRow = isBefore
        isBefore = false
        hasRow
      }
      override def get(): InternalRow = InternalRow(tick)
      override def close(): Unit = ()
    }
  }
}
