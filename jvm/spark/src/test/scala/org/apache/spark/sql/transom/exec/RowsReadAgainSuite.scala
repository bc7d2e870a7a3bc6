package org.apache.spark.sql.transom.exec

import java.nio.file.Files
import java.sql.Timestamp
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.duration.{Duration, MINUTES}

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.sql.{functions => F, Column, DataFrame, Dataset, Row, SQLContext}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.classic.{Dataset => ClassicDataset}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.{Offset, Source}
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager
import org.apache.spark.sql.execution.streaming.runtime.{LongOffset, MemoryStream}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.StreamSourceProvider
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException}
import org.apache.spark.sql.transom.{TestSession, TestSpecs}
import org.apache.spark.sql.transom.batch.LateWatermark
import org.apache.spark.sql.transom.plan.WindowPlanner
import org.apache.spark.sql.types.{LongType, StructType, TimestampType}

import transom.engine.firing.AfterCount
import transom.engine.spec._
import transom.engine.window.{Global, Session, Tumbling}

/** A task reads its rows again, because the block that held them is lost: the file manager of the
  * checkpoint removes the block when the time stage commits its state.
  */
class RowsReadAgainSuite extends FunSuite {
  import RowsReadAgainSuite._

  override def munitTimeout: Duration = Duration(2, MINUTES)

  override def beforeEach(context: BeforeEach): Unit = {
    Readings.count.set(0)
    LosingFileManager.lost.set(0)
    TestSession.spark.conf.set(FileManager, classOf[LosingFileManager].getName)
  }

  override def afterEach(context: AfterEach): Unit = TestSession.spark.conf.unset(FileManager)

  test("rows that come back in their order meet their stamps") {
    assertEquals(run(rows => Readings.changed(rows)(identity)), expected)
    assertEquals(Readings.count.get, 2)
  }

  test("rows that come back in another order fail the batch") {
    assertEquals(
      changedNow(_.reverse),
      "60 rows with other times or in another order instead of 60 rows")
  }

  test("rows that come back with another time fail the batch") {
    def moved(rows: Seq[Row]): Seq[Row] = rows.map { row =>
      if (row.getLong(0) != 20L) row
      else Row(20L, new Timestamp(row.getTimestamp(1).getTime + 1))
    }
    assertEquals(
      changedNow(moved),
      "60 rows with other times or in another order instead of 60 rows")
  }

  test("fewer or more rows fail the batch") {
    assertEquals(changedNow(_.drop(1)), "59 rows instead of 60 rows")
    Readings.count.set(0)
    assertEquals(changedNow(rows => rows :+ rows.last), "61 rows instead of 60 rows")
  }

  /** Runs the windows over rows that change. Returns the difference that fails the query. */
  private def changedNow(change: Seq[Row] => Seq[Row]): String = {
    val failed =
      intercept[StreamingQueryException](run(rows => Readings.changed(rows)(change)))
    val all = Iterator.iterate[Throwable](failed)(_.getCause).takeWhile(_ != null)
    val text =
      all.map(_.toString).find(_.contains("TRANSOM_ROWS_CHANGED")).getOrElse(throw failed)
    "and got (.*?)\\. The".r.findFirstMatchIn(text).get.group(1)
  }

  test("rows behind a shuffle stay right in whatever order they come back") {
    assertEquals(run(rows => Readings.changed(rows.repartition(1))(_.reverse)), expected)
    assertEquals(LosingFileManager.lost.get, 0)
  }

  test("a source with a shuffle of its own ends the query before any row is judged") {
    val format = classOf[ShufflingSources].getName
    val failed = intercept[StreamingQueryException] {
      run(_ => TestSession.spark.readStream.format(format).load())
    }
    assert(failed.getMessage.contains("TRANSOM_ORDER_NOT_REPEATED"), failed.getMessage)
  }

  test("no rows stay behind when a batch and its query have ended") {
    TestSession.spark.conf.unset(FileManager)
    val columns = Seq(F.col("time"), counted, F.col("n"))
    val query = start(identity, policy, columns)(_.collect(): Unit)
    try {
      query.processAllAvailable()
      awaitNoneHeld()
    } finally query.stop()
    awaitNoneHeld()
  }

  test("no rows stay behind when a batch fails before it reads them, or while it does") {
    TestSession.spark.conf.unset(FileManager)
    def columns(aggregate: Column) = Seq(F.col("time"), aggregate, F.col("n"))
    assert(failed(start(identity, policy, columns(counted)) { _ =>
      throw new IllegalStateException("a failing sink")
    }))
    val fail = F.udf((_: Long) => (throw new IllegalStateException("a failing row")): Long)
    awaitNoneHeld()
    // Spark refuses a batch of which a sink reads only a part.
    val part = start(identity, policy, columns(counted))(_.limit(1).collect(): Unit)
    assert(failed(part))
    awaitNoneHeld()
    val failing = columns(F.sum(fail(F.col("n"))).as("rows"))
    assert(failed(start(identity, policy, failing)(_.collect(): Unit)))
    awaitNoneHeld()
  }

  private val reversed: DataFrame => DataFrame =
    rows => Readings.changed(rows.repartition(1))(_.reverse)

  private val counted = F.count("*").as("rows")

  test("rows behind a shuffle cross the exchange alike, however a task reads them") {
    val arrived = policy.copy(time = Some(timePolicy.copy(arrivalColumn = Some(2))))
    val minute = F.date_trunc("minute", F.col("time"))
    val inputs = Seq(
      "an order" -> (policy, Seq(F.col("time"), counted, F.col("n"))),
      "an arrival with ties" ->
        (arrived.copy(orderColumns = Nil), Seq(F.col("time"), counted, minute)),
      "an order with ties" -> (policy, Seq(F.col("time"), counted, F.expr("n div 20"))),
      "the keyed layout" -> (threes, Seq(F.collect_list("n"), F.expr("n div 20"))))
    inputs.foreach { case (name, (spec, columns)) =>
      Readings.count.set(0)
      val (first, second) = inBatch(reversed, spec, columns) { plan =>
        val sent = sentBy(mapSideOf(plan))
        (sent.collect().toSeq, sent.collect().toSeq)
      }
      assert(Readings.count.get >= 2)
      assert(first.length > 1 && first == second, s"$name: rows depend on the order of reading")
    }
  }

  for (window <- Seq(Tumbling(10000000L), Session(2000000L)))
    test(s"sums over ${window.productPrefix} cross the exchange alike, in any order of rows") {
      val keyed = TestSpecs.hours.copy(
        time = Some(EventTime(0)),
        keyColumns = Seq(2),
        window = window,
        function = AggFunction(Seq(1)))
      val columns = Seq(F.col("time"), F.sum("n").as("total"), F.expr("n % 3"))
      val below = reversed.andThen(_.withWatermark("time", "0 seconds"))
      val (first, second) = inBatch(below, keyed, columns) { plan =>
        val sent = sentBy(mapSideOf(plan))
        (sent.collect().toSeq, sent.collect().toSeq)
      }
      assert(Readings.count.get >= 2)
      assert(first.nonEmpty)
      assertEquals(first, second)
    }

  test("Spark knows which rows a retried task may change") {
    def level(below: DataFrame => DataFrame, spec: WindowSpec, columns: Seq[Column]) =
      inBatch(below, spec, columns)(plan =>
        plan
          .collectFirst { case mapSide: WindowMapSideExec => mapSide }
          .get
          .execute()).outputDeterministicLevel
    val unordered = threes.copy(orderColumns = Nil)
    val lists = Seq(F.collect_list("n"))
    import DeterministicLevel._
    assertEquals(level(identity, unordered, lists), DETERMINATE)
    assertEquals(level(_.repartition(2), unordered, lists), INDETERMINATE)
    assertEquals(level(_.repartition(2), threes, lists :+ F.col("n")), DETERMINATE)
    // The windows read the rows of a time stage, which come from an exchange.
    val ordered = Seq(F.col("time"), counted, F.col("n"))
    assertEquals(
      level(_.repartition(2), policy.copy(layout = Layout.Keyed), ordered),
      DETERMINATE)
    assertEquals(level(identity, policy.copy(layout = Layout.Keyed), ordered), DETERMINATE)
  }

  /** Reads the plan of a batch while the batch runs. */
  private def inBatch[T](below: DataFrame => DataFrame, spec: WindowSpec, columns: Seq[Column])(
      read: SparkPlan => T): T = {
    var found: Option[T] = None
    val query = start(below, spec, columns) { batch =>
      val running = LateWatermark.runningBatch(TestSession.spark)
      // A batch without rows may follow.
      if (found.isEmpty) found = running.map(execution => read(execution.executedPlan))
      batch.collect(): Unit
    }
    try query.processAllAvailable()
    finally query.stop()
    found.get
  }

  private def failed(query: StreamingQuery): Boolean = {
    intercept[StreamingQueryException](query.processAllAvailable())
    query.exception.isDefined
  }

  /** Waits until neither the driver nor the block manager knows rows that stay with a task. */
  private def awaitNoneHeld(): Unit = {
    val context = TestSession.spark.sparkContext
    def held = context.getPersistentRDDs.size +
      SparkEnv.get.blockManager.getMatchingBlockIds(_.isRDD).size
    val end = System.nanoTime() + 30000000000L
    while (held > 0 && System.nanoTime() < end) Thread.onSpinWait()
    assertEquals(held, 0)
  }

  /** Runs the windows over one batch. Returns the number of rows by the start of a window, in
    * seconds.
    */
  private def run(below: DataFrame => DataFrame): Map[Long, Long] = {
    val found = scala.collection.mutable.Map.empty[Long, Long]
    val query = start(below, policy, Seq(F.col("time"), counted, F.col("n"))) { batch =>
      batch.collect().foreach { row =>
        found(row.getStruct(0).getTimestamp(0).getTime / 1000) = row.getLong(1)
      }
    }
    try query.processAllAvailable()
    finally query.stop()
    found.toMap
  }

  private def start(below: DataFrame => DataFrame, spec: WindowSpec, columns: Seq[Column])(
      save: DataFrame => Unit): StreamingQuery = {
    val spark = TestSession.spark
    import spark.implicits._
    val stream = MemoryStream[(Long, Timestamp)](spark)
    stream.addData(times.zipWithIndex.map { case (second, n) =>
      (n.toLong, new Timestamp(second * 1000))
    })
    val rows = below(stream.toDF().toDF("n", "time")).asInstanceOf[ClassicDataset[Row]]
    WindowPlanner
      .plan(rows, spec, columns)
      .writeStream
      .option("checkpointLocation", Files.createTempDirectory("read-again").toString)
      .foreachBatch((batch: Dataset[Row], _: Long) => save(batch))
      .start()
  }
}

private object RowsReadAgainSuite {
  val FileManager: String = SQLConf.STREAMING_CHECKPOINT_FILE_MANAGER_CLASS.parent.key

  /** The seconds of the rows in their order. Every seventh row is late. */
  val times: Seq[Long] = (0 until 60).map(n => if (n % 7 == 6) n - 40L + 100L else n + 100L)

  private lazy val timePolicy = TimePolicy(
    timeColumn = Some(0),
    arrivalColumn = None,
    partitionColumn = None,
    partitions = Nil,
    overColumns = Nil,
    early = None,
    late = None,
    outOfOrder = Accept(0L),
    advance = Periodic(Some(1), None),
    idlePartitionUs = None,
    estimateArrival = false)

  /** Windows of 10 seconds over rows in the order of `n`, with the latest time as the watermark.
    */
  val policy: WindowSpec = TestSpecs.hours.copy(
    time = Some(timePolicy),
    keyColumns = Nil,
    window = Tumbling(10000000L),
    function = AggFunction(Seq(1)),
    orderColumns = Seq(2))

  /** A result for every three rows, in the keyed layout. */
  val threes: WindowSpec = TestSpecs.hours.copy(
    time = None,
    keyColumns = Nil,
    window = Global,
    trigger = AfterCount(3),
    function = AggFunction(Seq(0)),
    orderColumns = Seq(1))

  def mapSideOf(plan: SparkPlan): SparkPlan =
    plan
      .collectFirst { case stage: TimeStageMapSideExec => stage }
      .getOrElse(plan.collectFirst { case mapSide: WindowMapSideExec => mapSide }.get)

  /** The rows that a map side sends, as text. */
  def sentBy(mapSide: SparkPlan): RDD[String] =
    mapSide.execute().map(_.asInstanceOf[UnsafeRow].getBytes.mkString(","))

  /** The windows that fire, by the rule: a row is late if its window ends by the latest time of
    * the rows before it.
    */
  val expected: Map[Long, Long] = {
    val before = times.scanLeft(Long.MinValue)(math.max)
    val taken = times.zip(before).collect {
      case (second, latest) if second / 10 * 10 + 10 > latest => second / 10 * 10
    }
    taken
      .groupBy(identity)
      .view
      .mapValues(_.length.toLong)
      .filterKeys(_ + 10 <= before.last)
      .toMap
  }
}

/** A source whose batches come from a shuffle that no plan shows. */
private class ShufflingSources extends StreamSourceProvider {
  private val rows = new StructType().add("n", LongType).add("time", TimestampType)

  override def sourceSchema(
      context: SQLContext,
      schema: Option[StructType],
      provider: String,
      options: Map[String, String]): (String, StructType) = ("shuffling", rows)

  override def createSource(
      context: SQLContext,
      metadata: String,
      schema: Option[StructType],
      provider: String,
      options: Map[String, String]): Source = new Source {
    override def schema: StructType = rows
    override def getOffset: Option[Offset] = Some(LongOffset(0))
    override def getBatch(start: Option[Offset], end: Offset): DataFrame = {
      val spark = TestSession.spark
      val read = spark.sparkContext
        .parallelize(RowsReadAgainSuite.times.zipWithIndex, 2)
        .map { case (second, n) => InternalRow(n.toLong, second * 1000000L) }
        .repartition(2)
      spark.internalCreateDataFrame(read, rows, isStreaming = true)
    }
    override def stop(): Unit = ()
  }
}

/** Counts how often the rows of a stream with one task are read. */
private object Readings {
  val count = new AtomicInteger

  /** Rows that change when they are read a second time. */
  def changed(rows: DataFrame)(change: Seq[Row] => Seq[Row]): DataFrame =
    rows.mapPartitions { (read: Iterator[Row]) =>
      val all = read.toVector
      (if (count.getAndIncrement() == 0) all else change(all)).iterator
    }(org.apache.spark.sql.Encoders.row(rows.schema))
}

/** Removes the rows that tasks hold whenever state is committed. */
private class LosingFileManager(path: Path, conf: Configuration)
    extends FileContextBasedCheckpointFileManager(path, conf) {

  override def renameTempFile(from: Path, to: Path, overwriteIfPossible: Boolean): Unit = {
    if (to.toString.contains("/state/")) {
      val blocks = SparkEnv.get.blockManager
      blocks.getMatchingBlockIds(_.isRDD).foreach { block =>
        blocks.removeBlock(block)
        LosingFileManager.lost.incrementAndGet()
      }
    }
    super.renameTempFile(from, to, overwriteIfPossible)
  }
}

private object LosingFileManager {
  val lost = new AtomicInteger
}
