package org.apache.spark.sql.transom.canary

import java.util
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A row of a probe source.
  *
  * @param second
  *   event time in seconds since 1970, or None for null
  */
final case class ProbeRow(group: Int, second: Option[Long], id: Long) {
  def internal: InternalRow = InternalRow(group, second.map(_ * 1000000L).orNull, id)
}

object ProbeRow {
  val schema: StructType = new StructType()
    .add("group", IntegerType, nullable = false)
    .add("time", TimestampType)
    .add("id", LongType, nullable = false)

  def apply(group: Int, second: Long, id: Long): ProbeRow = ProbeRow(group, Some(second), id)
}

/** The batches of a probe source, and a record of Spark's calls to it.
  *
  * The offset of the source is the number of batches that have been read.
  */
class Feed(batches: Seq[ProbeRow]*) {
  private val recorded = ArrayBuffer.empty[String]
  private[canary] val name = UUID.randomUUID().toString
  Feed.all.put(name, this)

  /** Returns the offset after `from`. None stands for null. */
  def next(from: Long): Option[Long] = Some(math.min(from + 1, length))

  /** The calls of Spark in order: the metadata path, the preparation for `availableNow`, and the
    * offsets that Spark asked from.
    */
  def calls: Seq[String] = synchronized(recorded.toSeq)

  private[canary] def length: Long = batches.length.toLong

  private[canary] def record(call: String): Unit = synchronized(recorded += call)

  private[canary] def between(from: Long, to: Long): Seq[ProbeRow] =
    batches.slice(from.toInt, to.toInt).flatten

  /** A stream of the rows.
    *
    * @param knowsAvailableNow
    *   whether the source supports `Trigger.AvailableNow`
    */
  def rows(spark: SparkSession, knowsAvailableNow: Boolean = true): DataFrame =
    spark.readStream
      .format(classOf[ProbeSource].getName)
      .option(Feed.Name, name)
      .option(Feed.KnowsAvailableNow, knowsAvailableNow)
      .load()

  /** A stream of the rows whose watermark is the largest event time. */
  def timed(spark: SparkSession): DataFrame = rows(spark).withWatermark("time", "0 seconds")
}

object Feed {
  private[canary] val Name = "feed"
  private[canary] val KnowsAvailableNow = "knows_available_now"
  private[canary] val all = new ConcurrentHashMap[String, Feed]
}

/** A streaming source that reads a [[Feed]]. */
final class ProbeSource extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = ProbeRow.schema

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]): Table = ProbeTable
}

private object ProbeTable extends Table with SupportsRead {
  override def name: String = "probe"
  override def schema: StructType = ProbeRow.schema
  override def capabilities: util.Set[TableCapability] =
    util.Set.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan {
      override def readSchema(): StructType = ProbeRow.schema

      override def toMicroBatchStream(metadata: String): MicroBatchStream = {
        val feed = Feed.all.get(options.get(Feed.Name))
        feed.record(s"metadata $metadata")
        if (options.getBoolean(Feed.KnowsAvailableNow, true)) new AvailableNowProbeStream(feed)
        else new ProbeStream(feed)
      }
    }
}

private final case class ProbeOffset(batches: Long) extends Offset {
  override def json: String = batches.toString
}

/** A probe source that does not support `Trigger.AvailableNow`. */
private class ProbeStream(feed: Feed) extends MicroBatchStream {
  override def initialOffset(): Offset = ProbeOffset(0)
  override def deserializeOffset(json: String): Offset = ProbeOffset(json.toLong)
  override def latestOffset(): Offset = feed.next(0).map(ProbeOffset).orNull

  override def planInputPartitions(from: Offset, to: Offset): Array[InputPartition] =
    Array(ProbePartition(feed.between(from.json.toLong, to.json.toLong)))

  override def createReaderFactory(): PartitionReaderFactory = ProbeReaderFactory
  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
}

private final class AvailableNowProbeStream(feed: Feed)
    extends ProbeStream(feed)
    with SupportsTriggerAvailableNow {
  override def prepareForTriggerAvailableNow(): Unit = feed.record("prepared")

  override def latestOffset(from: Offset, limit: ReadLimit): Offset = {
    feed.record(s"latest from ${from.json}")
    feed.next(from.json.toLong).map(ProbeOffset).orNull
  }

  override def reportLatestOffset(): Offset = ProbeOffset(feed.length)
}

private final case class ProbePartition(rows: Seq[ProbeRow]) extends InputPartition

private object ProbeReaderFactory extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val ProbePartition(all) = partition: @unchecked
    new PartitionReader[InternalRow] {
      private val rows = all.iterator
      private var row: InternalRow = _
      override def next(): Boolean = {
        val hasRow = rows.hasNext
        if (hasRow) row = rows.next().internal
        hasRow
      }
      override def get(): InternalRow = row
      override def close(): Unit = ()
    }
  }
}
