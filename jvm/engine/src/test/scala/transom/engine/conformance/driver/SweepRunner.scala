package transom.engine.conformance.driver

import transom.engine.keyed._
import transom.engine.keyed.keystate.MemoryKeyStore
import transom.engine.runtime.{Emissions, Event, KeyGroupOperator}
import transom.engine.spec.WindowSpec
import transom.engine.state.Limits
import transom.engine.sweep.SweepOperators

/** Runs the windows that a sweep over lifetimes finds. */
final class SweepRunner(spec: WindowSpec, limits: Limits = Limits.Default)
    extends Operator(spec) {
  private val store = new MemoryKeyStore(spec)
  private val rows = new StoredRows(RowBytes, convention)
  private val emissions = new Emissions[Output]
  private val results = new EmittedResults[Row](emissions, _.value)
  private val operator = new KeyedTaskOperator(
    spec,
    new SweepOperators(spec, new JsonAggregation(_.map(_.value)), RowBytes, rows, results),
    rows,
    results,
    emissions,
    Operator.Side,
    limits,
    CommonClock.open)

  override def open(clock: Long): KeyGroupOperator[Output] = operator.open(0, store, clock)

  override protected def mapSide(held: Seq[Row], lateWatermark: Long): Seq[Event] =
    held.map(row => Operator.event(row, RowBytes.range(row), convention, lateWatermark))

  // The timer index may still list a key that has no state any more.
  override def isEmpty: Boolean = store.keys.isEmpty
}
