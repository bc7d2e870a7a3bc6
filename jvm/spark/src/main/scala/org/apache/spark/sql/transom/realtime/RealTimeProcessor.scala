package org.apache.spark.sql.transom.realtime

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.TaskContext
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.transom.exchange.{ExchangeEncoder, ExchangeFormat, PayloadKind, WindowMapSide}
import org.apache.spark.sql.transom.planned.{JudgementColumns, TaskLimits}
import org.apache.spark.sql.transom.task.{KeyGroupTask, SparkKeyGroupState, WindowTasks}
import org.apache.spark.util.CollectionAccumulator

import transom.engine.judge.{Judgement, ReportedWatermarks}
import transom.engine.runtime._
import transom.engine.spec.TimePolicy
import transom.engine.state.{HeapState, KeyGroups, StateReader, StateWriter}
import transom.engine.time.{Advance, Watermark}

/** The stateful processor of an operator in Real-Time Mode.
  *
  * One instance serves all key groups of a task for one batch, which lasts minutes. Spark calls
  * it for each message. The map side combines the rows that the tasks of the sources have not
  * combined. When the watermark of the windows advances, the rows since the last advance are a
  * batch for the engine: the key groups that have rows or due windows process them, on state that
  * stays on the heap. Once all sources have ended, the state is written.
  *
  * @param reports
  *   gets the report of each task, see `TaskReport`
  */
final class RealTimeProcessor(tasks: SourceTasks, reports: CollectionAccumulator[Row])
    extends StatefulProcessor[Int, InternalRow, InternalRow] {
  @transient private var running: RealTimeTask = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    val spark = new SparkKeyGroupState(getHandle, isCached = true)
    def select(group: Int): Unit =
      ImplicitGroupingKeyTracker.setImplicitKey(KeyGroups.idOf(group))
    val heap = new HeapState(spark, select, TaskLimits.current.state)
    running = new RealTimeTask(tasks, heap, reports)
  }

  override def handleInputRows(
      group: Int,
      messages: Iterator[InternalRow],
      timerValues: TimerValues): Iterator[InternalRow] =
    messages.flatMap(running.handle)
}

/** Creates processors, in the type in which Spark's plans hold them. */
object RealTimeProcessor {
  def of(
      tasks: SourceTasks,
      reports: CollectionAccumulator[Row]): StatefulProcessor[Any, Any, Any] =
    new RealTimeProcessor(tasks, reports).asInstanceOf[StatefulProcessor[Any, Any, Any]]
}

/** The operator of a task in Real-Time Mode. Spark also creates instances on the driver, for the
  * variables of the state.
  */
private final class RealTimeTask(
    tasks: SourceTasks,
    heap: HeapState,
    reports: CollectionAccumulator[Row]) {
  import tasks.operatorPlan
  import operatorPlan.convention

  private val task: KeyGroupTask = WindowTasks(operatorPlan).create()
  private val state = task.storeOf(heap)
  // What a key group has besides its windows.
  private val saved = heap.value("real_time")
  private lazy val groups = new TaskGroups(TaskContext.getPartitionId(), tasks)
  // Known once the batch has begun. None if windows do not follow the watermarks of sources.
  private var sources = Option.empty[ReportedWatermarks]
  // Combines the rows that their source task has not combined. Null before the first one.
  private var mapSide: WindowMapSide = _
  private val firesOnRows = operatorPlan.spec.firesOnRows
  private val firesBetweenRows = operatorPlan.spec.firesBetweenRows
  private var hasTicked = false
  // When the current message was sent.
  private var cameAtMs = 0L
  private val watermarkAt = tasks.input.length - JudgementColumns.count
  private val timeAt = tasks.input.indexWhere(_.exprId == operatorPlan.time.exprId)
  private lazy val columns = tasks.ruled
  private val judgement = new Judgement
  private val report = new TaskReport
  private var hasBegun = false
  private var ended = 0
  private var hasEnded = false
  // The watermark by which windows have fired, in the engine's convention.
  private var fired = Watermark.NotYet

  /** Handles a message. Exhaust the results before the next call. */
  def handle(message: InternalRow): Iterator[InternalRow] = {
    if (!hasBegun) begin()
    cameAtMs = message.getLong(SourceMessage.Clock)
    val task = message.getInt(SourceMessage.Task)
    message.getInt(SourceMessage.Kind) match {
      case SourceMessage.Rows => addAll(task, rowsOf(message))
      case SourceMessage.Combined =>
        groups.add(new ExchangeRowsReader(message.getBinary(SourceMessage.Payload)))
        fireIf(groups.areFull)
      case SourceMessage.Seen =>
        rowsOf(message).foreach(judge(task, _))
        Pulled.none
      case SourceMessage.Begin =>
        val begun = sources.exists(_.begin(message.getInt(SourceMessage.Tasks)))
        val identified = !message.isNullAt(SourceMessage.Source) && sources.exists(
          _.identify(task, message.getUTF8String(SourceMessage.Source).getBytes))
        fireIf(begun || identified)
      case SourceMessage.Advanced => fireIf(advances(message))
      // After the end of the batch the state is written, and the next batch has ticks too.
      case SourceMessage.Tick if hasEnded => Pulled.none
      case SourceMessage.Tick =>
        hasTicked = operatorPlan.spec.needsClock
        fireIf(sources.exists(_.tick(cameAtMs * 1000L)) || hasTicked)
      case SourceMessage.End =>
        ended += 1
        if (!message.isNullAt(SourceMessage.Payload))
          report.counts.add(message.getBinary(SourceMessage.Payload))
        hasEnded = ended == message.getInt(SourceMessage.Tasks)
        val results = fireIf(advances(message) || hasEnded)
        if (hasEnded) Pulled.andDo(results)(end()) else results
    }
  }

  private def rowsOf(message: InternalRow): SourceRowsReader =
    new SourceRowsReader(message.getBinary(SourceMessage.Payload), tasks.input.length)

  private def addAll(task: Int, from: SourceRowsReader): Iterator[InternalRow] =
    new PulledLoop[InternalRow] {
      override protected def continues: Boolean = from.hasNext

      override protected def turn(): Iterator[InternalRow] = {
        from.next()
        // Not each step of the watermark has a message of its own.
        if (firesBetweenRows && advances(task, from.watermark, from.arrival))
          fire() ++ add(task, from)
        else add(task, from)
      }
    }

  private def add(task: Int, from: SourceRowsReader): Iterator[InternalRow] = {
    judge(task, from)
    if (mapSide == null) {
      mapSide = tasks.newMapSide()
      mapSide.startAfter(fired)
    }
    groups.add(mapSide.push(from.row))
    fireIf(firesOnRows || groups.areFull)
  }

  /** Notes how far the source of a message has come. Returns whether windows may fire. */
  private def advances(message: InternalRow): Boolean = advances(
    message.getInt(SourceMessage.Task),
    message.getLong(SourceMessage.Watermark),
    message.getLong(SourceMessage.Arrival))

  private def advances(task: Int, watermark: Long, arrival: Long): Boolean =
    sources.exists(_.advance(task, watermark, arrival))

  private def result(row: InternalRow): InternalRow = {
    report.count(System.currentTimeMillis() - cameAtMs)
    row
  }

  /** Judges a row, and writes the judgement into it. */
  private def judge(task: Int, from: SourceRowsReader): Unit =
    // Without a closure, because this runs for every row.
    if (sources.isDefined) judgeBy(sources.get, task, from)

  private def judgeBy(sources: ReportedWatermarks, task: Int, from: SourceRowsReader): Unit = {
    import from.row
    sources.noteRow(task)
    columns.pointTo(row)
    val isUnjudged = RowRules.problemOfTime(columns).isDefined ||
      tasks.hasTimePolicy && columns.hasFailedKey
    if (!isUnjudged) {
      val (watermark, arrival) = (from.watermark, from.arrival)
      sources.judge(task, watermark, arrival, columns.time, columns.arrival, judgement)
      // A dropped row keeps its own time, for its dead letter.
      if (judgement.dropped == null) row.setLong(timeAt, judgement.time)
      row.setLong(watermarkAt, judgement.watermark)
      if (tasks.hasTimePolicy) row.setLong(watermarkAt + 1, judgement.code)
    } else {
      // Under a policy, only a judged row meets a watermark. Spark's is there for every row.
      val met = if (tasks.hasTimePolicy) Watermark.NotYet else sources.metBy(task, from.watermark)
      row.setLong(watermarkAt, met)
    }
  }

  /** Restores what the last batch has left, besides the state of the windows. */
  private def begin(): Unit = {
    hasBegun = true
    groups.all.foreach { group =>
      val operator = open(group, System.currentTimeMillis())
      groups.setTimer(group, operator.nextTimer)
      operator.process(Iterator.empty).foreach(_ => ())
      operator.gauges.foreach(gauges => groups.setOpen(group, gauges.open))
      restore(group)
    }
  }

  private def restore(group: Int): Unit = {
    val before = Option(saved.get).map(new StateReader(_))
    val ofSources = before.map(_.array())
    if (group == groups.first)
      sources = tasks.policy.map(sourcesOf(_, ofSources.orNull))
    before.foreach { in =>
      (1L to in.unsigned()).foreach(_ => groups.await(group, in.signed(), in.array()))
    }
  }

  private def sourcesOf(policy: TimePolicy, saved: Array[Byte]): ReportedWatermarks = {
    val sources = new ReportedWatermarks(policy, operatorPlan.spec, saved)
    // The source tasks rely on it when they combine rows.
    tasks.onTime.foreach(_.check(sources.furthest))
    sources
  }

  /** Saves what a key group has besides its windows.
    *
    * {{{
    * watermarks of the sources, in the first key group of the task; number of segments that wait;
    * of each: the instant until which windows fire first, segments
    * }}}
    */
  private def save(group: Int): Unit = {
    val ofSources = sources.filter(_ => group == groups.first).map(_.saved())
    val awaiting = groups.awaiting(group)
    heap.open(group)
    if (ofSources.nonEmpty || awaiting.nonEmpty) {
      val out = new StateWriter
      out.array(ofSources.getOrElse(Array.emptyByteArray))
      out.unsigned(awaiting.length)
      awaiting.foreach { case (end, segments) =>
        out.signed(end)
        out.array(segments.getBinary(ExchangeFormat.Payload))
      }
      saved.put(out.take())
    } else if (saved.get != null) saved.remove()
  }

  private def fireIf(isDue: Boolean): Iterator[InternalRow] = if (isDue) fire() else Pulled.none

  /** Processes all rows that have come, and fires the windows that the watermark has passed. */
  private def fire(): Iterator[InternalRow] = {
    val nowMs = System.currentTimeMillis()
    val watermark = sources.fold(Watermark.NotYet)(_.watermark)
    val reached = convention.watermarkIn(watermark)
    val byRows = sources.fold(reached)(of => convention.watermarkIn(of.watermarkByRows))
    val advance = Advance(fired, reached, math.max(fired, byRows))
    if (mapSide != null) {
      // Only the end of the batch needs the rows of windows that stay open.
      groups.add(if (hasEnded) mapSide.drain() else mapSide.drainUntil(reached))
      mapSide.startAfter(reached)
    }
    fired = reached
    val ticks = hasTicked
    hasTicked = false
    groups
      .due(watermark, reached, ofAll = ticks)
      .iterator
      .flatMap { group =>
        val operator = open(group, nowMs)
        val inputs = Iterator.single(new GroupInput.Advanced(advance)) ++
          task.inputs(groups.take(group, reached), Watermark.NotYet) ++
          Option.when(ticks)(GroupInput.Tick)
        Pulled.andDo(operator.process(inputs)) {
          groups.setTimer(group, operator.nextTimer)
          report.counts.add(operator.counts.bytes)
          operator.gauges.foreach(gauges => groups.setOpen(group, gauges.open))
          heap.trim()
        }
      }
      .map(result)
  }

  private def open(group: Int, nowMs: Long): KeyGroupOperator[InternalRow] = {
    heap.open(group)
    task.open(group, state, nowMs)
  }

  /** Writes the state, which Spark commits when the task ends, and reports. */
  private def end(): Unit = {
    groups.all.foreach(save)
    // All tasks close the windows of a silent input, and one of them counts.
    if (groups.first == 0)
      sources.foreach(sources => report.counts.add(RowCounts.IdleCloses, sources.idleCloses))
    val held = heap.heldBytes
    heap.flush()
    if (mapSide != null) report.counts.add(mapSide.counts.bytes)
    val watermark = sources.fold(Watermark.NotYet)(_.watermark)
    reports.add(report.row(watermark, groups.open, held))
  }
}

/** The key groups of a task: their rows that wait for the watermark, and when their windows are
  * due.
  *
  * @param partition
  *   number of the task
  */
private final class TaskGroups(partition: Int, tasks: SourceTasks) {

  /** The numbers of all key groups of the task, see `KeyGroups.idOf`. */
  val all: Range = partition until tasks.operatorPlan.keyGroups by tasks.partitions
  private val byId = all.map(group => KeyGroups.idOf(group) -> group).toMap
  private val waiting = Array.fill(all.length)(new Waiting)
  private val encoder = new ExchangeEncoder(tasks.operatorPlan.order)
  private val limit = TaskLimits.current.combined
  private var bytes = 0L
  // The key groups that have rows.
  private val filled = mutable.BitSet.empty
  // Lower bounds of the timers of all key groups, and of the ends of the windows for which segments
  // wait. With an early trigger each row fires, and then must not look at all key groups.
  private var leastTimer = Long.MaxValue
  private var leastAwaited = Long.MaxValue

  /** The key group that has the state of the whole task. */
  def first: Int = all.head

  /** Whether the rows that wait should be processed, because they take much memory. */
  def areFull: Boolean = bytes > limit

  /** Adds rows in the exchange format. */
  def add(rows: Iterator[InternalRow]): Unit = while (rows.hasNext) {
    val kept = rows.next().copy()
    val group = byId(kept.getInt(ExchangeFormat.Group))
    ExchangeFormat.kindOf(kept) match {
      case PayloadKind.WaitingSegments =>
        await(group, kept.getLong(ExchangeFormat.LateWatermark), kept)
      case _ =>
        filled += group
        of(group).rows += kept
        bytes += kept.asInstanceOf[UnsafeRow].getSizeInBytes
    }
  }

  /** Adds segments that wait until windows have fired, as [[awaiting]] has returned them. */
  def await(group: Int, end: Long, segments: Array[Byte]): Unit =
    await(group, end, encoder.waitingSegments(group, segments, end).copy())

  private def await(group: Int, end: Long, segments: InternalRow): Unit = {
    of(group).awaiting += ((end, segments))
    leastAwaited = math.min(leastAwaited, end)
  }

  /** The segments of a key group that wait until the windows that end by an instant have fired,
    * with this instant.
    */
  def awaiting(group: Int): Seq[(Long, InternalRow)] = of(group).awaiting.toSeq

  /** Removes and returns the rows of a key group that need not wait at a watermark. */
  def take(group: Int, reached: Long): Iterator[InternalRow] = {
    val waiting = of(group)
    val (ready, left) = waiting.awaiting.partition { case (end, _) => end <= reached }
    val rows = waiting.rows ++ ready.map(_._2)
    waiting.rows = ArrayBuffer.empty
    waiting.awaiting = left
    rows.iterator
  }

  /** Notes when the windows of a key group are due.
    *
    * @param timer
    *   see `KeyGroupOperator.nextTimer`
    */
  def setTimer(group: Int, timer: Long): Unit = {
    of(group).timer = timer
    leastTimer = math.min(leastTimer, timer)
  }

  /** Notes the starts of the open windows of a key group, if it has any. */
  def setOpen(group: Int, starts: Option[OpenStarts]): Unit = of(group).open = starts

  /** The starts of the open windows of each key group that has any. */
  def open: Seq[OpenStarts] = all.flatMap(of(_).open)

  /** The key groups that have rows or windows that are due, or all of them. Process them before
    * the next call: `take` their rows and set their timers.
    *
    * @param watermark
    *   in the host's convention
    * @param reached
    *   the same watermark in the engine's convention
    */
  def due(watermark: Long, reached: Long, ofAll: Boolean): Seq[Int] = {
    bytes = 0L
    val withRows = filled.toSeq
    filled.clear()
    if (!ofAll && watermark < leastTimer && reached < leastAwaited) withRows
    else {
      val (due, others) = all.partition { group =>
        val waiting = of(group)
        ofAll || waiting.rows.nonEmpty || waiting.timer <= watermark ||
        waiting.awaiting.exists { case (end, _) => end <= reached }
      }
      leastTimer = others.map(of(_).timer).minOption.getOrElse(Long.MaxValue)
      leastAwaited = all
        .flatMap(of(_).awaiting)
        .map(_._1)
        .filter(_ > reached)
        .minOption
        .getOrElse(Long.MaxValue)
      due
    }
  }

  private def of(group: Int): Waiting = waiting(group / tasks.partitions)

  private final class Waiting {
    var rows: ArrayBuffer[InternalRow] = ArrayBuffer.empty

    /** Segments that wait until windows have fired, with the last end of these windows. */
    var awaiting: ArrayBuffer[(Long, InternalRow)] = ArrayBuffer.empty
    var timer: Long = Long.MaxValue
    var open: Option[OpenStarts] = None
  }
}
