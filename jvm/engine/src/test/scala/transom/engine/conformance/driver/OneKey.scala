package transom.engine.conformance.driver

import transom.engine.keyed.contract.{PerKeyOperator, PerKeyState}
import transom.engine.window.{RowContext, RowOutcome}

/** Calls the operator of a key, and does all work of a call at once. */
object OneKey {

  /** Advances the key to the arrival of a row, and adds the row. */
  def process[R, S <: PerKeyState, T](
      operator: PerKeyOperator[R, S, T],
      state: S,
      row: => R,
      context: RowContext): RowOutcome = {
    advance(operator, state, context.watermark, context.clock)
    operator.process(state, row, context).foreach(identity)
    operator.outcome
  }

  def advance[R, S <: PerKeyState, T](
      operator: PerKeyOperator[R, S, T],
      state: S,
      watermark: Long,
      clock: Long): Unit = operator.advance(state, watermark, clock).foreach(identity)
}
