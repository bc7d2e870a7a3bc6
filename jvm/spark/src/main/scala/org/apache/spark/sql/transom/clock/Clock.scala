package org.apache.spark.sql.transom.clock

import java.util

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, PartitionOffset, SupportsRealTimeRead}
import org.apache.spark.sql.transom.batch.RealTime
import org.apache.spark.sql.transom.checkpoint.CheckpointedSpec
import org.apache.spark.sql.transom.planned.OperatorSpec
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A streaming source that signals progress of time to a query.
  *
  * A row means that the input of an `availableNow` run has ended (`DrainClock`) or that the wall
  * clock has ticked (`TickClock`).
  */
final class ClockSource extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = ClockSource.schema

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]): Table = ClockTable
}

/** Creates the plans that read a clock source. */
object ClockSource {
  val schema: StructType = new StructType().add("tick", LongType, nullable = false)

  private[transom] val Operator = "operator"
  private[transom] val Record = "record"
  private[transom] val PeriodUs = "period_us"

  /** A clock that emits a row when the input of an `availableNow` run has ended. */
  def draining(session: SparkSession, operatorSpec: OperatorSpec): LogicalPlan =
    relation(session, operatorSpec, "drain")

  /** A clock that emits a row when the wall clock reaches a multiple of a period.
    *
    * @param periodUs
    *   the period, microseconds
    */
  def ticking(session: SparkSession, operatorSpec: OperatorSpec, periodUs: Long): LogicalPlan =
    relation(session, operatorSpec, "ticks", PeriodUs -> periodUs.toString)

  private def relation(
      session: SparkSession,
      operatorSpec: OperatorSpec,
      signal: String,
      options: (String, String)*): LogicalPlan = {
    val thread = Thread.currentThread
    val before = thread.getContextClassLoader
    // Spark loads a source by its class name. The jar may have been added to a running session,
    // so Spark needs the class loader of this class.
    thread.setContextClassLoader(getClass.getClassLoader)
    try {
      val reader = session.readStream
        .format(classOf[ClockSource].getName)
        .option(Operator, operatorSpec.name)
        .option(Record, operatorSpec.record)
        .options(options.toMap)
      // Spark wants a name of each source, or of none.
      if (session.sessionState.conf.enableStreamingSourceEvolution)
        reader.name(sourceName(operatorSpec.name, signal))
      val clock: DataFrame = reader.load()
      clock.queryExecution.analyzed
    } finally thread.setContextClassLoader(before)
  }

  /** The name of a clock among the sources of a query. Spark allows letters, digits and `_`. */
  private def sourceName(operator: String, signal: String): String = {
    val safe = operator.flatMap { char =>
      if (char.isLetterOrDigit) char.toString else f"_${char.toInt}%02x"
    }
    s"transom_${safe}_$signal"
  }
}

/** The table of a clock source; supports micro-batch reads only. */
private object ClockTable extends Table with SupportsRead {
  override def name: String = "clock"
  override def schema: StructType = ClockSource.schema
  override def capabilities: util.Set[TableCapability] =
    util.Set.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan {
      override def readSchema(): StructType = ClockSource.schema

      override def toMicroBatchStream(metadata: String): MicroBatchStream = {
        val operator = options.get(ClockSource.Operator)
        val record = OperatorSpec.read(options.get(ClockSource.Record))
        // Spark gives each source of a query the directory <checkpoint>/sources/<number>.
        val checkpoint = new Path(metadata).getParent.getParent
        val session = SparkSession.active
        CheckpointedSpec.refuseNewClock(session, checkpoint, operator, record)
        Option(options.get(ClockSource.PeriodUs)) match {
          case Some(period) => new TickClock(session, period.toLong)
          case None =>
            RealTime.refuse(
              session,
              operator,
              "drain()",
              "the input has no end in this mode",
              "Drain a copy of the query in micro-batches")
            new DrainClock(session, checkpoint, operator)
        }
      }
    }
}

/** The signal that the last advance of a clock sent.
  *
  * @param name
  *   name of the phase in the checkpoint
  */
sealed abstract class ClockPhase(val name: String)

/** The phases of a clock. */
object ClockPhase {

  /** The input may bring more rows. */
  case object Open extends ClockPhase("open")

  /** The input may bring more rows, and the wall clock has ticked for all keys. */
  case object Ticked extends ClockPhase("ticked")

  /** The control row has been sent. From the next batch on the watermark is the end of time. */
  case object Ended extends ClockPhase("ended")

  /** The batch that fires all windows has begun. */
  case object Fired extends ClockPhase("fired")

  val all: Seq[ClockPhase] = Seq(Open, Ticked, Ended, Fired)
}

/** The offset of a clock. The checkpoint stores the offset, so it is exact after any crash.
  *
  * @param tick
  *   number of times that the clock has advanced
  * @param phase
  *   the signal of the last advance
  */
final case class ClockOffset(tick: Long, phase: ClockPhase) extends Offset {
  override def json: String = s"""{"tick":$tick,"phase":"${phase.name}"}"""

  def next(phase: ClockPhase): ClockOffset = ClockOffset(tick + 1, phase)
}

/** The first offset of a clock. Also decodes offsets. */
object ClockOffset {
  val start: ClockOffset = ClockOffset(0L, ClockPhase.Open)

  private val mapper = new ObjectMapper()

  def ofJson(json: String): ClockOffset = {
    val node = mapper.readTree(json)
    val phase = ClockPhase.all.find(_.name == node.get("phase").asText).get
    ClockOffset(node.get("tick").asLong, phase)
  }
}

/** The input partition of a clock in a batch. */
private[clock] sealed trait ClockPartition extends InputPartition {
  def reader: PartitionReader[InternalRow]
}

/** The single row of a clock in a micro-batch. */
private[clock] final class ClockRow(tick: Long) extends ClockPartition {
  override def reader: PartitionReader[InternalRow] = new OneTick(tick)
}

/** The rows of a clock in Real-Time Mode, whose tasks tick while a batch runs.
  *
  * @param at
  *   the offset at which the batch starts
  * @param periodMs
  *   period of the ticks, milliseconds
  */
private[clock] final class ClockTicks(at: ClockOffset, periodMs: Long) extends ClockPartition {
  override def reader: PartitionReader[InternalRow] = new Ticking(at, periodMs)
}

/** The offset that a clock has reached in Real-Time Mode. */
private[clock] final class ClockReached(val offset: ClockOffset) extends PartitionOffset

/** Creates the readers of clocks. */
private object ClockReaderFactory extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    partition.asInstanceOf[ClockPartition].reader
}

/** Reads the single row of a clock in a micro-batch. */
private final class OneTick(tick: Long) extends PartitionReader[InternalRow] {
  private var isBefore = true

  override def next(): Boolean = {
    val hasRow = isBefore
    isBefore = false
    hasRow
  }
  override def get(): InternalRow = InternalRow(tick)
  override def close(): Unit = ()
}

/** Reads a row at each multiple of a period, as long as a batch runs in Real-Time Mode. */
private final class Ticking(at: ClockOffset, periodMs: Long)
    extends SupportsRealTimeRead[InternalRow] {
  private var reached = at
  private var due = 0L

  override def nextWithTimeout(
      startMs: java.lang.Long,
      timeoutMs: java.lang.Long): SupportsRealTimeRead.RecordStatus = {
    due = math.max(due + periodMs, startMs - Math.floorMod(startMs, periodMs))
    val end = startMs + timeoutMs
    val isInBatch = due < end
    val wait = math.min(due, end) - System.currentTimeMillis()
    if (wait > 0) Thread.sleep(wait)
    if (isInBatch) reached = reached.next(ClockPhase.Ticked)
    SupportsRealTimeRead.RecordStatus.newStatusWithoutArrivalTime(isInBatch)
  }

  override def next(): Boolean =
    throw new UnsupportedOperationException("call nextWithTimeout")
  override def get(): InternalRow = InternalRow(reached.tick)
  override def getOffset: PartitionOffset = new ClockReached(reached)
  override def close(): Unit = ()
}
