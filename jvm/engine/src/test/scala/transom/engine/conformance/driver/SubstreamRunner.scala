package transom.engine.conformance.driver

import java.nio.charset.StandardCharsets.UTF_8

import transom.engine.judge._
import transom.engine.keyed._
import transom.engine.runtime.{GroupInput, KeyGroupOperator}
import transom.engine.spec.{TimePolicy, WindowSpec}
import transom.engine.state.{ByteRange, CountedState, Limits}
import transom.engine.time.Watermark
import transom.engine.window.TimeConvention
import transom.engine.conformance.vector.Json

/** Runs windows over substreams, over single rows. The arrival of a row is its `clock`.
  *
  * @param substreamOf
  *   the substream of a key; none if each key is a substream
  */
final class SubstreamRunner(
    spec: WindowSpec,
    policy: TimePolicy,
    substreamOf: Option[Json => Json],
    limits: Limits = Limits.Default)
    extends Operator(spec) {
  private val state = new CountedState
  private val store = new SubstreamStore(state, spec)
  private val rows = new EncodedRowStore(RowBytes, convention)
  private val logic = new TimePolicyLogic(policy)
  private var latest = Watermark.NotYet
  private val results = new ListResults[Row](_.value)
  private val plan =
    KeyedPlan.of(spec, new JsonAggregation(_.map(_.value)), rows, KeyedSettings.NoConditions)
  private val operator = new KeyedTaskOperator(
    spec,
    new WindowOperators(spec, plan, rows, results),
    rows,
    results,
    Operator.Side,
    limits,
    (store: SubstreamStore, now: Long) =>
      new SubstreamWatermarks(policy, logic, convention, Substreams, store, seesEnds = true, now))

  override def open(clock: Long): KeyGroupOperator[Output] = operator.open(0, store, clock)

  /** Runs a batch.
    *
    * @param latest
    *   the latest arrival of the rows of all key groups in this batch
    */
  def batch(rows: Seq[Row], latest: Long): Seq[Output] = {
    this.latest = latest
    batch(rows, Watermark.NotYet, Watermark.NotYet)
  }

  /** Ends the input. */
  def end(): Seq[Output] = batch(Nil, Watermark.NotYet, Long.MaxValue)

  override protected def mapSide(held: Seq[Row], lateWatermark: Long): Seq[GroupInput] =
    held.map { row =>
      val input =
        Operator.input(row, RowBytes.range(row), TimeConvention.Start, lateWatermark)
      input.context.arrival = row.clock
      if (row.isPunctuation) new GroupInput.Punctuation(input) else input
    } :+ new GroupInput.LatestArrival(latest)

  // The timer index may still list a key that has no state any more.
  override def isEmpty: Boolean = store.keys.isEmpty && state.sizeOf("rows") == 0

  /** The number of substreams that have a clock. */
  def substreams: Int = state.sizeOf("sources")

  /** The number of keys that have state. */
  def keys: Int = store.keys.size

  /** The number of entries in the index of timers that wait for the common watermark. */
  def commonTimers: Int = state.sizeOf("timers") + Option(store.watermarkTimers.header.get).size

  /** The number of timers of substreams. */
  def timers: Int = state.sizeOf("substream_timers")

  private object Substreams extends SubstreamRows {
    override def isKey: Boolean = SubstreamRunner.this.substreamOf.isEmpty
    override def substreamOf(key: ByteRange, to: ByteRange): Unit =
      SubstreamRunner.this.substreamOf.fold(to.set(key)) { of =>
        val json = Json.parse(new String(RowList.copy(key), UTF_8))
        to.set(RowList.range(of(json).toString.getBytes(UTF_8)))
      }: Unit
    override def note(stamp: Judgement, time: Long): Unit = ()
    override def setTime(value: ByteRange, time: Long): Unit = RowBytes.setTime(value, time)
  }
}
