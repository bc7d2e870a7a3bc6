package transom.engine.conformance.driver

import transom.engine.conformance.vector.Json
import transom.engine.keyed._
import transom.engine.keyed.keystate.{Contents, MemoryKeyStore, PerKeyState}
import transom.engine.keyed.several.SeveralOperators
import transom.engine.runtime.{Emissions, Event, KeyGroupOperator}
import transom.engine.spec.WindowSpec
import transom.engine.state.Limits
import transom.engine.sweep.SweepOperators
import transom.engine.window.Windows

/** Runs several windows in one pass, in the keyed layout. */
final class SeveralRunner(spec: WindowSpec, windows: Windows, limits: Limits)
    extends Operator(spec) {
  private val store = new MemoryKeyStore(spec)
  private val rows = new StoredRows(RowBytes, convention)
  private val emissions = new Emissions[Output]
  private val results = new EmittedResults[Row](emissions, _.value)
  private val aggregation = new JsonAggregation(_.map(_.value))
  private val operator = new KeyedTaskOperator(
    spec,
    new SeveralOperators(spec, windows, rows, RowBytes, results)(operatorsOf),
    rows,
    results,
    emissions,
    Operator.Side,
    limits,
    CommonClock.open)

  private def operatorsOf(
      spec: WindowSpec,
      rows: Contents[Row],
      results: Results[Row, Vector[Json]]): PerKeyOperators[Row, _ <: PerKeyState] =
    if (spec.isSwept) new SweepOperators(spec, aggregation, RowBytes, rows, results)
    else {
      val plan = KeyedPlan.of(spec, aggregation, rows, KeyedSettings.NoConditions)
      new WindowOperators(spec, plan, rows, results)
    }

  override def open(clock: Long): KeyGroupOperator[Output] = operator.open(0, store, clock)

  override protected def mapSide(held: Seq[Row], lateWatermark: Long): Seq[Event] =
    held.map(row => Operator.event(row, RowBytes.range(row), convention, lateWatermark))

  // The timer index may still list a key that has no state any more.
  override def isEmpty: Boolean = store.keys.isEmpty && store.rowCount == 0
}
