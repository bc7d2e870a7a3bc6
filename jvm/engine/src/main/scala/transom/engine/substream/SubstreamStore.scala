package transom.engine.substream

import transom.engine.keyed.keystate.KeyStore
import transom.engine.policy.SourceStore
import transom.engine.spec.WindowSpec
import transom.engine.state.{KeyGroupState, StateMap}

/** The substreams in the state of a key group: the keys, the clocks of the substreams, and their
  * timers.
  */
final class SubstreamStore(state: KeyGroupState, spec: WindowSpec) extends KeyStore(state, spec) {

  /** The clocks. */
  val clocks: SourceStore = new SourceStore(state, "substreams")

  /** The timers, see [[TimerHeaps]]. */
  val timers: StateMap = state.map("substream_timers")
}
