package transom.engine.keyed.keystate

import transom.engine.conformance.driver.Specs
import transom.engine.spec.WindowSpec
import transom.engine.state.CountedState
import transom.engine.window.Tumbling

/** The keys of a key group in memory. */
class MemoryKeyStore(
    spec: WindowSpec = Specs.of(Tumbling(1)),
    state: CountedState = new CountedState)
    extends KeyStore(state, spec) {

  /** Number of raw rows. */
  def rowCount: Int = state.sizeOf("rows")

  /** Number of values, in all variables. */
  def size: Int = state.size
}
