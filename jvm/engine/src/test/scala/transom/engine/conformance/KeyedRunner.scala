package transom.engine.conformance

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import transom.engine.keyed.{Change, FiredWindow, KeyedOperator, KeyedPlan, Results}
import transom.engine.keyed.state.{Contents, KeyState, MemoryContents, StateCodec}
import transom.engine.time.Ticks
import transom.engine.window.{Arrival, Disposition, TimeWindow, Timeline}

/** The operator of one key, for many.
  *
  * @param restarts
  *   whether the state goes through its bytes between any two calls
  */
final class KeyedRunner(
    makePlan: Contents[Row] => KeyedPlan[Row, Vector[Json]],
    restarts: Boolean = true)
    extends Operator {

  private val keys = mutable.LinkedHashMap.empty[Any, OneKey]
  private val fired = ArrayBuffer.empty[Fired]
  private val ended = ArrayBuffer.empty[TimeWindow]
  private var watermark = Long.MinValue
  private var clock = Long.MinValue

  /** Answers the rows that are late as Flink has it: those that no window took and that are
    * behind the watermark themselves.
    */
  override def process(rows: Seq[Row], watermark: Long): Seq[Row] = rows.filter { row =>
    val arrival = new Arrival
    arrival.watermark = watermark
    arrival.clock = row.clock
    arrival.gap = row.gap
    arrival.windows = row.windows
    val key = keys.getOrElseUpdate(row.key.value, new OneKey(row.key))
    arrival.time =
      if (key.plan.assigner.timeline == Timeline.Clock) row.clock
      else row.time.getOrElse(Arrival.NoTime)
    val disposition = key.run { (operator, state) =>
      // A key that is new has missed the last tick, which lies ahead of what clocks show.
      operator.advance(state, Long.MinValue, clock)
      operator.process(state, row, arrival)
    }
    val isMissed = disposition == Disposition.Late || disposition == Disposition.NoWindow
    isMissed && key.plan.assigner.timeline == Timeline.Event &&
    row.time.exists(Ticks.add(_, key.plan.allowedLateness) < watermark)
  }

  override def fire(watermark: Long): Seq[Fired] = {
    advance(watermark)
    takeFired()
  }

  /** Fires what is due at `watermark`. */
  def advance(watermark: Long): Unit = {
    this.watermark = watermark
    advance()
  }

  override def tick(clock: Long): Unit = {
    this.clock = clock
    advance()
  }

  def endBatch(): Unit =
    keys.values.foreach(_.run((operator, state) => operator.endBatch(state, watermark, clock)))

  override def takeFired(): Seq[Fired] = {
    val taken = fired.toVector
    fired.clear()
    taken
  }

  /** Windows that were forgotten since last asked, where the plan tells of them. */
  def takeEnded(): Seq[TimeWindow] = {
    val taken = ended.toVector
    ended.clear()
    taken
  }

  override def nextTimer: Long = keys.values.map(_.nextTimer).minOption.getOrElse(Long.MaxValue)

  override def isEmpty: Boolean = keys.values.forall(_.isEmpty)

  override def storedRows: Int = keys.values.map(_.contents.size).sum

  private def advance(): Unit =
    keys.values.foreach(_.run((operator, state) => operator.advance(state, watermark, clock)))

  private final class OneKey(key: Json) extends Results[Row, Vector[Json]] {
    private type State = KeyState[Vector[Json]]

    val contents: MemoryContents[Row] = new MemoryContents[Row] {
      override def timeOf(row: Row): Long = row.time.getOrElse(Arrival.NoTime)
    }
    val plan: KeyedPlan[Row, Vector[Json]] = makePlan(contents)
    private val codec = new StateCodec(plan.aggregation)
    private var operator = new KeyedOperator(plan, contents, this)
    private var state = new State

    def run[T](act: (KeyedOperator[Row, Vector[Json]], State) => T): T = {
      val result = act(operator, state)
      if (restarts) {
        state = if (state.isEmpty) new State else codec.decode(codec.encode(state))
        operator = new KeyedOperator(plan, contents, this)
      }
      result
    }

    def nextTimer: Long = state.nextTimer

    def isEmpty: Boolean = state.isEmpty && contents.size == 0 &&
      state.nextTimer == Long.MaxValue && state.nextClockTimer == Long.MaxValue

    override def emit(window: FiredWindow, values: Vector[Json]): Unit =
      note(window, values)

    override def emitRows(window: FiredWindow, rows: Iterator[Row]): Unit =
      note(window, rows.map(_.value).toVector)

    override def emitChange(window: FiredWindow, change: Change, result: Array[Byte]): Unit = {
      val reported = Json.parse(new String(result, UTF_8)).elements.map(_.value)
      note(window, Nil, Some(change), Some(reported))
    }

    override def emitEnd(window: FiredWindow): Unit =
      ended += TimeWindow(window.start, window.end)

    private def note(
        window: FiredWindow,
        values: Seq[Json],
        change: Option[Change] = None,
        reported: Option[Seq[Any]] = None): Unit =
      KeyedRunner.this.fired += Fired(
        key,
        TimeWindow(window.start, window.end),
        values,
        Some(window.pane),
        change,
        reported)
  }
}
