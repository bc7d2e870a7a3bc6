package transom.engine.policy

import transom.engine.state.{KeyGroupState, StateMap, StateValue}

/** The sources in the state of a key group.
  *
  * @param headerName
  *   the name of the variable of the key group itself
  */
final class SourceStore(state: KeyGroupState, headerName: String = "group") {

  /** The state of each source. */
  val sources: StateMap = state.map("sources")

  /** State of the key group itself. */
  val header: StateValue = state.value(headerName)
}
