package transom.engine.conformance.driver

import transom.engine.judge.CommonWatermark
import transom.engine.keyed._
import transom.engine.keyed.keystate.MemoryKeyStore
import transom.engine.runtime.{GroupInput, KeyGroupOperator}
import transom.engine.spec.WindowSpec
import transom.engine.state.Limits

/** Runs the windows that a sweep over lifetimes finds. */
final class SweepRunner(spec: WindowSpec, limits: Limits = Limits.Default)
    extends Operator(spec) {
  private val store = new MemoryKeyStore(spec)
  private val rows = new EncodedRowStore(RowBytes, convention)
  private val results = new ListResults[Row](_.value)
  private val aggregation = new JsonAggregation(_.map(_.value))
  private val operator = new KeyedTaskOperator(
    spec,
    KeyedOperators.of(spec, aggregation, RowBytes, rows, KeyedSettings.NoConditions, results),
    rows,
    results,
    Operator.Side,
    limits,
    CommonWatermark.open)

  override def open(clock: Long): KeyGroupOperator[Output] = operator.open(0, store, clock)

  override protected def mapSide(held: Seq[Row], lateWatermark: Long): Seq[GroupInput] =
    held.map(row => Operator.input(row, RowBytes.range(row), convention, lateWatermark))

  // The timer index may still list a key that has no state any more.
  override def isEmpty: Boolean = store.keys.isEmpty
}
