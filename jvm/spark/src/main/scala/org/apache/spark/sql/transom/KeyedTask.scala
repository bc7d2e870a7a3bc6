package org.apache.spark.sql.transom

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

import transom.engine.keyed.{KeyGroup, KeyListener, KeyedOperator, KeyedPlan, Staggers}
import transom.engine.keyed.state.{Contents, KeyStore, StateCodec}
import transom.engine.spec.{EventTime, LateRows, ProcessingTime, Stagger, Tumbling, Window}
import transom.engine.time.Watermark
import transom.engine.window.{Arrival, Disposition, GlobalGrid, Timeline}

/** Runs the window operator of the keyed layout in a task, one key group at a time.
  *
  * Not thread-safe: all key groups share the buffers of the task.
  */
final class KeyedTask(operatorPlan: WindowOperatorPlan) {
  private val aggregation = new KeyedAggregation(operatorPlan)
  private val results = new KeyedResults(operatorPlan, aggregation)
  private val rows = new KeyedRows(operatorPlan)
  private val plan = KeyedPlans.of(operatorPlan, operatorPlan.settings.window, aggregation, rows)
  private val aligned = new KeyedOperator(plan, rows, results)
  private val codec = new StateCodec(aggregation)
  private val forgetsAtEnd =
    operatorPlan.settings.drain && plan.assigner.timeline != Timeline.Event
  private val isNatural = operatorPlan.settings.window.stagger == Stagger.Natural
  private val isOnClock = operatorPlan.settings.time.contains(ProcessingTime)
  private val reader =
    if (operatorPlan.hasMapSideCombine) new AccumulatorReader(operatorPlan)
    else new ChunkReader(operatorPlan, rows)
  private val arrival = new Arrival
  private lazy val sideOutputs = new SideOutputRows(operatorPlan)
  private def weightOf(row: UnsafeRow): Int = aggregation.weightOf(row)
  private val listener: KeyListener = key => {
    results.pointAt(key)
    rows.pointAt(key)
  }

  /** The engine's operator for a key group.
    *
    * A staggered window has an offset per key group, so each key group needs its own operator.
    *
    * @param firstRow
    *   wall clock at the first row of the key group, microseconds
    */
  private def operatorOf(group: Int, firstRow: => Long): KeyedOperator[UnsafeRow, InternalRow] =
    operatorPlan.settings.window match {
      case window: Tumbling if window.stagger != Stagger.Aligned =>
        val offset = Staggers.offset(window.stagger, window, group, firstRow)
        val moved = KeyedPlans.of(operatorPlan, window.copy(offsetUs = offset), aggregation, rows)
        new KeyedOperator(moved, rows, results)
      case _ => aligned
    }

  /** Processes one key group in one batch: its rows first, then the advance of time.
    *
    * The returned iterator does all work lazily. Exhaust it before the next call. At its end it
    * saves the state of the key group and calls `finish`.
    *
    * @param id
    *   id of the key group
    * @param store
    *   state of the key group
    * @param exchangeRows
    *   rows of the key group in the exchange format, in order of arrival
    * @param watermark
    *   event watermark of the batch, microseconds, or `Watermark.NotYet`
    * @param nowMs
    *   wall clock of the batch, milliseconds
    * @param counts
    *   counters that this call increments
    * @param finish
    *   receives the next watermark timer before and after the batch, microseconds;
    *   `Long.MaxValue` if there is none
    */
  def process(
      id: Int,
      store: KeyStore,
      exchangeRows: Iterator[InternalRow],
      watermark: Long,
      nowMs: Long,
      counts: RowCounts)(finish: (Long, Long) => Unit): Iterator[InternalRow] =
    new AbstractIterator[InternalRow] {
      rows.open(store)
      private var isFirst = isNatural && store.firstRow.isEmpty
      private val operator = operatorOf(id, store.firstRow.getOrElse(nowMs * 1000L))
      private val group =
        new KeyGroup(operator, codec, store, listener, forgetsAtEnd)
      private val reached = Watermark.minus(watermark, operatorPlan.watermarkShift)
      private lazy val moved = {
        // Processing-time windows fire too when the input ends.
        val isEnd = plan.assigner.timeline == Timeline.Clock && reached >= GlobalGrid.EndOfTime
        val clock = if (isEnd) GlobalGrid.EndOfTime else arrival.clock
        group.advance(arrival.watermark, reached, clock, hasTicked)
      }
      private val timerBefore = nextTimer
      private var isOver = false
      private var hasTicked = false
      arrival.watermark = Watermark.NotYet
      arrival.clock = nowMs * 1000L - (if (isOnClock) operatorPlan.watermarkShift else 0L)

      override def hasNext: Boolean = {
        while (results.isEmpty && !isOver) step()
        !results.isEmpty
      }

      override def next(): InternalRow =
        if (hasNext) results.take() else throw new NoSuchElementException("no further row")

      private def step(): Unit =
        if (reader.next()) take()
        else if (exchangeRows.hasNext) open(exchangeRows.next())
        else if (moved.hasNext) moved.next()
        else {
          isOver = true
          group.save()
          finish(timerBefore, nextTimer)
        }

      private def nextTimer: Long = {
        val timer = group.nextTimer
        if (timer == Long.MaxValue) timer else timer + operatorPlan.watermarkShift
      }

      private def open(row: InternalRow): Unit =
        row.getInt(ExchangeFormat.Kind) match {
          case ExchangeFormat.Counts => counts.add(row.getBinary(ExchangeFormat.Payload))
          case ExchangeFormat.DeadLetter => results.add(sideOutputs.deadLetter(row, nowMs))
          case ExchangeFormat.Tick => hasTicked = true
          case _ =>
            arrival.watermark = row.getLong(ExchangeFormat.LateWatermark)
            reader.open(row)
        }

      private def take(): Unit = {
        if (isFirst) {
          isFirst = false
          store.saveFirstRow(nowMs * 1000L)
        }
        import reader.{key, record}
        reader.readInto(arrival)
        if (isOnClock) arrival.time = nowMs * 1000L - operatorPlan.timeShift
        group.process(key, record, arrival, weightOf(record)) match {
          case Disposition.Added =>
          case Disposition.NoWindow => counts.inGaps += 1
          case Disposition.Late =>
            counts.late += 1
            if (operatorPlan.lateRows != LateRows.No) emitLate(isPartly = false)
          case Disposition.PartlyLate =>
            if (operatorPlan.lateRows == LateRows.Partly) {
              counts.latePartly += 1
              emitLate(isPartly = true)
            }
        }
      }

      private def emitLate(isPartly: Boolean): Unit =
        results.add(
          sideOutputs.late(
            reader.row,
            arrival.time,
            arrival.watermark,
            operator.missedWindows,
            isPartly,
            nowMs))
    }
}

/** Stores the raw rows of windows in the state of the current key group.
  *
  * Call `open` for each key group and `pointAt` for each key before reading or writing rows.
  */
final class KeyedRows(operatorPlan: WindowOperatorPlan) extends Contents[UnsafeRow] {
  private val hasTime = operatorPlan.settings.time.exists(_.isInstanceOf[EventTime])
  private var store: KeyStore = _
  private var key: Array[Byte] = _

  def open(store: KeyStore): Unit = this.store = store

  def pointAt(key: Array[Byte]): Unit = this.key = key

  override def put(list: Long, sequence: Long, row: UnsafeRow): Unit =
    store.putRow(key, list, sequence, row.getBytes)

  override def get(list: Long, sequence: Long): UnsafeRow = {
    val bytes = store.getRow(key, list, sequence)
    val row = new UnsafeRow(operatorPlan.record.length)
    row.pointTo(bytes, bytes.length)
    row
  }

  override def remove(list: Long, sequence: Long): Unit = store.removeRow(key, list, sequence)

  override def timeOf(row: UnsafeRow): Long =
    if (hasTime) row.getLong(0) - operatorPlan.timeShift else Arrival.NoTime
}

/** Builds the engine's plan of a window operator. */
object KeyedPlans {

  def of(
      operatorPlan: WindowOperatorPlan,
      window: Window,
      aggregation: KeyedAggregation,
      rows: KeyedRows): KeyedPlan[UnsafeRow, InternalRow] = {
    import operatorPlan.settings
    KeyedPlan
      .of(
        window,
        if (settings.time.contains(ProcessingTime)) Timeline.Clock else Timeline.Event,
        settings.trigger,
        settings.evictor,
        aggregation,
        rows,
        new KeyedConditions(operatorPlan, aggregation))
      .copy(
        allowedLateness = settings.allowedLatenessUs,
        retracts = settings.retract,
        emitsRows = settings.function.takesRows,
        countsPanes = settings.pane,
        emitsEnds = settings.function.keepsByWindow)
  }
}
