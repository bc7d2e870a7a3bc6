package org.apache.spark.sql.transom.task

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.streaming.StatefulProcessorHandle
import org.apache.spark.sql.transom.aggregate.{FinalAggregation, KeyedAggregation, KeyedConditions, UnsafeRows}
import org.apache.spark.sql.transom.batch.TaskWatermark
import org.apache.spark.sql.transom.exchange.{ExchangeDecoder, ExchangeFormat, PayloadKind, RowWindowReader}
import org.apache.spark.sql.transom.operator.{KeyedLayout, SliceLayout, TaskLimits, WindowOperatorPlan}
import org.apache.spark.sql.transom.schema.RowReader
import org.apache.spark.sql.transom.state.{StateStoreKeys, StateStoreSegments}

import transom.engine.keyed._
import transom.engine.keyed.several.SeveralOperators
import transom.engine.keyed.state.{Contents, KeyStore, MemoryKeyStore, PerKeyState}
import transom.engine.operator._
import transom.engine.session.SessionLogOperator
import transom.engine.slice.SliceLogOperator
import transom.engine.spec.{WindowSpec, Windows}
import transom.engine.sweep.SweepOperators
import transom.engine.state.{ByteRange, Limits, MemoryStore, Store}
import transom.engine.time.Watermark
import transom.engine.window.{Arrival, GlobalGrid}

/** The tasks of a window operator. */
final case class WindowTasks(operatorPlan: WindowOperatorPlan) extends KeyGroupTasks {
  override def create(): KeyGroupTask = operatorPlan.layout match {
    case SliceLayout => new LogTask(operatorPlan)
    case KeyedLayout if operatorPlan.substreams.isDefined => new SubstreamTask(operatorPlan)
    case KeyedLayout => new KeyedTask(operatorPlan)
  }

  override def followSpark: Boolean = operatorPlan.followsSpark

  override def in(change: WindowOperatorPlan => WindowOperatorPlan): KeyGroupTasks =
    WindowTasks(change(operatorPlan))
}

/** A task of a window operator. */
private[task] abstract class WindowTask(operatorPlan: WindowOperatorPlan) extends KeyGroupTask {
  import operatorPlan.convention

  protected lazy val limits: Limits = TaskLimits.current

  private lazy val decoder = ExchangeDecoder.of(operatorPlan)

  override def events(rows: Iterator[InternalRow], watermark: Long): Iterator[Event] =
    decoder.events(if (isFollowed) rows.tapEach(note) else rows) ++
      Iterator.single(new Event.Watermark(ownWatermark(watermark)))

  /** The watermark of Spark, if the windows follow it. A watermark after the last valid time ends
    * the input of all windows. A delay of the user's may have moved it before the end of time.
    */
  private def ownWatermark(watermark: Long): Long =
    if (operatorPlan.followsSpark) convention.watermarkIn(watermark)
    else if (watermark == Watermark.NotYet || RowRules.isInRange(watermark)) Watermark.NotYet
    else GlobalGrid.EndOfTime

  // In a stream an operator over the results may follow this operator.
  private def isFollowed: Boolean = operatorPlan.canBeFollowed && operatorPlan.query.isDefined

  /** The watermarks that such an operator can follow, and their values for an own watermark. */
  private lazy val followed: Seq[(TaskWatermark, Long => Long)] = {
    val ofResults = new OutputWatermark(operatorPlan.settings)
    val ofLifetimes = operatorPlan.lifetimes.map(TaskWatermark.of(_) -> ofResults.of _)
    (TaskWatermark.of(operatorPlan.name) -> convention.watermarkOut _) +: ofLifetimes.toSeq
  }

  /** Notes the watermark of an exchange row, for the operator over the results. */
  private def note(row: InternalRow): Unit = followed.foreach { case (own, out) =>
    def inRow = out(row.getLong(ExchangeFormat.LateWatermark))
    ExchangeFormat.kindOf(row) match {
      case PayloadKind.Rows | PayloadKind.Segments =>
        own.before = math.max(own.before, inRow)
      case PayloadKind.Watermark =>
        own.reached = math.max(own.reached, out(ExchangeFormat.watermark(row)))
        own.withoutIdle = math.max(own.withoutIdle, inRow)
      case _ =>
    }
  }
}

/** A task over slice logs or session logs. */
private final class LogTask(operatorPlan: WindowOperatorPlan) extends WindowTask(operatorPlan) {
  override type State = IndexedSeq[Store]

  override protected lazy val operator: WindowOperator[IndexedSeq[Store], InternalRow] = {
    import operatorPlan.settings
    val merger = new FinalAggregation(operatorPlan)
    val sideOutputs = new SideOutputRows(operatorPlan)
    operatorPlan.slices match {
      case grid: GridSlices =>
        new SliceLogOperator(settings, grid, merger, sideOutputs, limits)
      case sessions: SessionSlices =>
        new SessionLogOperator(settings, sessions, merger, sideOutputs, limits)
    }
  }

  override def stored(handle: StatefulProcessorHandle): IndexedSeq[Store] =
    StateStoreSegments.of(handle, grids)
  override def inMemory(): IndexedSeq[Store] = Vector.fill(grids)(new MemoryStore)

  private def grids: Int = operatorPlan.settings.window.members.length
}

/** A task in the keyed layout. */
private final class KeyedTask(operatorPlan: WindowOperatorPlan) extends WindowTask(operatorPlan) {
  override type State = KeyStore

  override protected lazy val operator: WindowOperator[KeyStore, InternalRow] =
    KeyedTask.operator(operatorPlan, limits, CommonClock.open)

  override def stored(handle: StatefulProcessorHandle): KeyStore =
    new StateStoreKeys(handle, operatorPlan.settings)
  override def inMemory(): KeyStore = new MemoryKeyStore
}

private[task] object KeyedTask {

  /** @param clocksOf
    *   opens the clocks of a key group at a wall-clock time, in microseconds since 1970
    */
  def operator[S <: KeyStore](
      operatorPlan: WindowOperatorPlan,
      limits: Limits,
      clocksOf: (S, Long) => KeyClocks): WindowOperator[S, InternalRow] = {
    import operatorPlan.settings
    val aggregation = new KeyedAggregation(operatorPlan)
    val codec = new RecordCodec(operatorPlan)
    val rows = new StoredRows(codec, operatorPlan.convention)
    val emissions = new Emissions[InternalRow]
    val results = new KeyedResults(operatorPlan, aggregation, emissions)
    def operatorOf[K <: PerKeyState](operators: PerKeyOperators[UnsafeRow, K]) =
      new KeyedWindowOperator(
        settings,
        operators,
        rows,
        results,
        emissions,
        new SideOutputRows(operatorPlan),
        limits,
        clocksOf)
    def conditions = new KeyedConditions(operatorPlan, aggregation)
    def operatorsOf(
        spec: WindowSpec,
        rows: Contents[UnsafeRow],
        results: Results[UnsafeRow, InternalRow]): PerKeyOperators[UnsafeRow, _ <: PerKeyState] =
      if (spec.isSwept) new SweepOperators(spec, aggregation, codec, rows, results)
      else {
        val plan = KeyedPlan.of(spec, aggregation, rows, conditions)
        new WindowOperators(spec, plan, rows, results)
      }
    settings.window match {
      case windows: Windows =>
        operatorOf(new SeveralOperators(settings, windows, rows, codec, results)(operatorsOf))
      case _ => operatorOf(operatorsOf(settings, rows, results))
    }
  }
}

/** Reads and writes the values of exchange rows in the keyed layout. The values are records, or
  * accumulators if the map side combines rows.
  */
private[task] final class RecordCodec(operatorPlan: WindowOperatorPlan)
    extends RowCodec[UnsafeRow] {
  private val schemas = operatorPlan.schemas
  private lazy val keepsRows = LayoutRules.keepsRows(operatorPlan.settings)
  private val readers = mutable.HashMap.empty[Int, RowReader]
  private val width =
    if (operatorPlan.hasMapSideCombine) operatorPlan.buffers.length
    else operatorPlan.record.length
  private val hasTime = operatorPlan.settings.time.exists(_.isEventTime)
  // The time comes first.
  private val idWidth = 1 + operatorPlan.settings.lifetime.fold(0)(_.idColumns.length)
  private val shared = new UnsafeRow(width)

  override def view(bytes: ByteRange): UnsafeRow = {
    shared.pointTo(bytes.bytes, UnsafeRows.offset(bytes), bytes.length)
    shared
  }

  override def decode(bytes: Array[Byte], offset: Int, length: Int): UnsafeRow =
    rowOf(width, bytes, offset, length)

  private def rowOf(width: Int, bytes: Array[Byte], offset: Int, length: Int): UnsafeRow = {
    val row = new UnsafeRow(width)
    row.pointTo(bytes, UnsafeRows.ArrayOffset + offset, length)
    row
  }

  override def encode(row: UnsafeRow): Array[Byte] = row.getBytes

  override def layout: Int =
    if (keepsRows) schemas.current
    else throw new IllegalStateException("the schema of the state has no rows")

  override def converted(
      written: Int,
      bytes: Array[Byte],
      offset: Int,
      length: Int): Array[Byte] = {
    val reader = readers.getOrElseUpdate(written, schemas.rowReader(written))
    reader(rowOf(schemas(written).rows.length, bytes, offset, length)).copy().getBytes
  }

  override def setTime(bytes: ByteRange, time: Long): Unit = view(bytes).setLong(0, time)

  override def timeOf(row: UnsafeRow): Long = if (hasTime) row.getLong(0) else Arrival.NoTime

  override def idOf(row: UnsafeRow): Array[Byte] = RowWindowReader.idOf(row, idWidth).getBytes
}
