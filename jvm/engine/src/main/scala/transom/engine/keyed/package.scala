package transom.engine

/** The keyed layout: windows, triggers and evictors that need single keys and single rows.
  *
  * {{{
  * rows, accumulators ──► KeysOfGroup ──► PerKeyOperator ──► Results, one step at a time
  *                         │ loads and saves keys     │ KeyedOperator: windows known by their rows
  *                         └ TimerIndex: due keys     └ CheckedSessionOperator: maximum duration
  * }}}
  *
  * `PerKeyOperator` holds the rules and no state of a key: it takes the state of a key, changes
  * it, and returns steps that each emit at most one result. So a host needs only a state, a
  * watermark and a clock, and the results of a key never lie in memory together. `KeysOfGroup`
  * reads and writes each touched key once in a batch, and finds keys with due timers without
  * reading the others. `KeyClocks` gives each key its watermark: one for all keys, or one for
  * each substream.
  */
package object keyed
