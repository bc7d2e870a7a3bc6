package org.apache.spark.sql.transom

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.streaming._

import transom.engine.log.MemoryStore
import transom.engine.spec.LateRows

/** The window stage of a stream: one instance serves the key groups of a partition, for one
  * batch. A group that gets rows fires its due windows with them; one that gets none is woken by
  * its timer, which stands at the watermark at which its next window is due.
  */
final class WindowProcessor(stage: WindowStage)
    extends StatefulProcessor[Int, InternalRow, InternalRow] {
  @transient private lazy val fold = new SparkFold(stage)
  @transient private lazy val lateRows = new LateOutput(stage)
  @transient private var store: StateStoreSegments = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    store = new StateStoreSegments(
      getHandle.getValueState("directory", Encoders.BINARY, TTLConfig.NONE),
      getHandle.getMapState("segments", Encoders.BINARY, Encoders.BINARY, TTLConfig.NONE))

  override def handleInputRows(
      group: Int,
      rows: Iterator[InternalRow],
      timerValues: TimerValues): Iterator[InternalRow] = {
    lazy val log = new KeyGroupLog(stage, fold, store)
    var touched = false
    var judgedBy = Long.MinValue
    val late = ArrayBuffer.empty[Array[Byte]]
    val counts = new RowCounts
    var isCounted = false
    rows.foreach { row =>
      val payload = row.getBinary(Exchanged.Payload)
      row.getInt(Exchanged.Kind) match {
        case Exchanged.Segment =>
          touched = true
          log.append(row.getLong(Exchanged.Pane), payload, row.getLong(Exchanged.JudgedBy))
        case Exchanged.Late =>
          judgedBy = row.getLong(Exchanged.JudgedBy)
          late += payload
        case _ =>
          isCounted = true
          counts.add(payload)
      }
    }
    var handedOn: Iterator[InternalRow] = Iterator.empty
    if (late.nonEmpty) {
      touched = true
      val refused = log.join(late.map(LateRecord.read).toSeq, judgedBy)
      isCounted = true
      counts.late += refused.count(!LateRecord.isPartly(_))
      if (stage.lateRows != LateRows.No) {
        val now = timerValues.getCurrentProcessingTimeInMs()
        handedOn = refused.iterator.map(lateRows.row(_, judgedBy, now))
      }
    }
    val yielded =
      if (touched) handedOn ++ fire(log, timerValues.getCurrentWatermarkInMs()) else handedOn
    Iterator.single(new Visit(if (isCounted) counts.row else null, yielded))
  }

  override def handleExpiredTimer(
      group: Int,
      timerValues: TimerValues,
      expiredTimer: ExpiredTimerInfo): Iterator[InternalRow] = {
    val log = new KeyGroupLog(stage, fold, store)
    // Spark removes the expired timer itself, after the last row has been taken.
    log.panes.timer = None
    Iterator.single(new Visit(null, fire(log, timerValues.getCurrentWatermarkInMs())))
  }

  /** The windows that are due, of those of rows that have just come too: what goes through memory
    * need not pass through the state. The state is written once the windows have been taken.
    */
  private def fire(log: KeyGroupLog, watermarkMs: Long): Iterator[InternalRow] = {
    val watermark = watermarkMs * 1000L
    val fired = if (log.nextDue <= watermark) log.fire(watermark) else Iterator.empty
    new Iterator[InternalRow] {
      private var open = true
      override def hasNext: Boolean = fired.hasNext || {
        if (open) finish(log)
        open = false
        false
      }
      override def next(): InternalRow = fired.next()
    }
  }

  /** Moves the timer to where the next window is due and saves the directory. */
  private def finish(log: KeyGroupLog): Unit = {
    val due = log.nextDue
    val timer = if (due == Long.MaxValue) None else Some(-Math.floorDiv(-due, 1000L))
    if (timer != log.panes.timer) {
      log.panes.timer.foreach(getHandle.deleteTimer)
      timer.foreach(getHandle.registerTimer)
      log.panes.timer = timer
    }
    log.save()
  }
}

/** The window stage of a static DataFrame: the same logs over memory, group after group; then
  * time ends and every window fires. Spark's batch plan for stateful processors knows no event
  * time.
  */
case class FireAllExec(stage: WindowStage, output: Seq[Attribute], child: SparkPlan)
    extends FiredRowsExec {

  override def inputRDD: RDD[InternalRow] = {
    val stageOfTasks = stage
    child.execute().mapPartitions { rows =>
      val fold = new SparkFold(stageOfTasks)
      val segments = rows.filter(_.getInt(Exchanged.Kind) == Exchanged.Segment).buffered
      Iterator.continually(segments).takeWhile(_.hasNext).flatMap { left =>
        val group = left.head.getInt(Exchanged.Group)
        val log = new KeyGroupLog(stageOfTasks, fold, new MemoryStore)
        while (left.hasNext && left.head.getInt(Exchanged.Group) == group) {
          val row = left.next()
          log.append(row.getLong(Exchanged.Pane), row.getBinary(Exchanged.Payload), Long.MinValue)
        }
        log.fire(Long.MaxValue)
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): FireAllExec =
    copy(child = newChild)
}
