package transom.engine.conformance.driver

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import transom.engine.judge.CommonWatermark
import transom.engine.keyed._
import transom.engine.keyed.contract._
import transom.engine.keyed.keystate.MemoryKeyStore
import transom.engine.runtime.{GroupInput, KeyGroupOperator, Pulled}
import transom.engine.spec.{EventTime, ProcessingTime, WindowSpec}
import transom.engine.state.{ByteRange, Limits}
import transom.engine.time.Timeline
import transom.engine.window.{RowContext, TimeWindow, Window}
import transom.engine.conformance.vector.{Json, Unsupported}

/** Runs the keyed layout over single rows. */
final class KeyedRunner(spec: WindowSpec, makePlan: RowStore[Row] => KeyedPlan[Row, Vector[Json]])
    extends Operator(spec) {
  private val store = new MemoryKeyStore(spec)
  private val rows = new EncodedRowStore(RowBytes, spec.window.convention)
  private val results = new ListResults[Row](_.value)
  private val operator = new KeyedTaskOperator(
    spec,
    new WindowOperators(spec, makePlan(rows), rows, results),
    rows,
    results,
    Operator.Side,
    Limits.Default,
    CommonWatermark.open)

  /** Runs a plan for a window.
    *
    * @param timeline
    *   event time or processing time
    */
  def this(window: Window, timeline: Timeline, lateness: Long = 0L)(
      makePlan: RowStore[Row] => KeyedPlan[Row, Vector[Json]]) =
    this(
      Specs.of(
        window,
        if (timeline == Timeline.Clock) ProcessingTime else EventTime(0),
        if (timeline == Timeline.Clock) 0L else lateness),
      makePlan)

  /** Runs a spec whose results are the values of rows. */
  def this(spec: WindowSpec) =
    this(
      spec,
      KeyedPlan.of(
        spec,
        new JsonAggregation(_.map(_.value)),
        _: RowStore[Row],
        KeyedSettings.NoConditions))

  override def open(clock: Long): KeyGroupOperator[Output] =
    operator.open(0, store, clock)

  override protected def mapSide(held: Seq[Row], lateWatermark: Long): Seq[GroupInput] =
    held.map(row => Operator.input(row, RowBytes.range(row), convention, lateWatermark))

  // The timer index may still list a key that has no state any more.
  override def isEmpty: Boolean = store.keys.isEmpty && store.rowCount == 0

  override def storedRows: Int = store.rowCount
}

/** Builds results whose accumulators are lists of values. */
final class ListResults[R](value: R => Json) extends Results[R, Vector[Json], Output] {
  private var key: Json = _
  private var member = 0

  override def startMember(index: Int): Unit = member = index

  override def pointAt(bytes: Array[Byte]): Unit =
    key = Json.parse(new String(bytes, UTF_8))

  override def result(window: FiredWindow, values: Vector[Json]): Output = fired(window, values)

  override def ofRows(window: FiredWindow, rows: Iterator[R]): Iterator[Output] =
    Pulled.one(fired(window, rows.map(value).toVector))

  override def change(window: FiredWindow, change: Change, result: Array[Byte]): Output = {
    val reported = Json.parse(new String(result, UTF_8)).elements.map(_.value)
    fired(window, Nil, Some(change), Some(reported))
  }

  override def windowGone(window: FiredWindow): Output =
    Ended(TimeWindow(window.start, window.end))

  private def fired(
      window: FiredWindow,
      values: Seq[Json],
      change: Option[Change] = None,
      reported: Option[Seq[Any]] = None): Output =
    Fired(
      key,
      TimeWindow(window.start, window.end),
      values,
      Some(window.pane),
      change,
      reported,
      member)
}

/** Encodes rows as bytes. */
object RowBytes extends RowCodec[Row] {
  def range(row: Row): ByteRange = RowList.range(encode(row))

  override def view(bytes: ByteRange): Row =
    decode(bytes.bytes, bytes.offset, bytes.length)

  override def encode(row: Row): Array[Byte] = {
    val (key, value) = (row.key.toString.getBytes(UTF_8), row.value.toString.getBytes(UTF_8))
    val id = row.id.getBytes(UTF_8)
    val out =
      ByteBuffer.allocate(52 + 16 * row.windows.length + key.length + value.length + id.length)
    out.putLong(row.time.getOrElse(RowContext.NoTime)).putLong(row.arrival)
    out.putLong(row.clock).putLong(row.gap)
    out.putInt(row.windows.length)
    row.windows.foreach(window => out.putLong(window.start).putLong(window.end))
    out.putInt(key.length).put(key).putInt(value.length).put(value).putInt(id.length).put(id)
    out.array
  }

  override def layout: Int = 0

  override def converted(
      written: Int,
      bytes: Array[Byte],
      offset: Int,
      length: Int): Array[Byte] = Unsupported("there is one layout")

  override def decode(bytes: Array[Byte], offset: Int, length: Int): Row = {
    val in = ByteBuffer.wrap(bytes, offset, length)
    def text(): String = {
      val text = new Array[Byte](in.getInt())
      in.get(text)
      new String(text, UTF_8)
    }
    def json(): Json = Json.parse(text())
    val (time, arrival, clock, gap) = (in.getLong(), in.getLong(), in.getLong(), in.getLong())
    val windows = Vector.fill(in.getInt())(TimeWindow(in.getLong(), in.getLong()))
    val (key, value) = (json(), json())
    val known = Some(time).filter(_ != RowContext.NoTime)
    Row(key, value, known, arrival, clock, gap, windows, id = text())
  }

  override def setTime(bytes: ByteRange, time: Long): Unit =
    ByteBuffer.wrap(bytes.bytes).putLong(bytes.offset, time): Unit

  override def timeOf(row: Row): Long = row.time.getOrElse(RowContext.NoTime)

  override def idOf(row: Row): Array[Byte] = row.id.getBytes(UTF_8)
}
