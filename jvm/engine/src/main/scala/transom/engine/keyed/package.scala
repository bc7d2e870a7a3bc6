package transom.engine

/** The keyed layout: windows, triggers and evictors that need single keys and single rows.
  *
  * {{{
  * rows, accumulators ──► KeysOfGroup ──► PerKeyOperator ──► Results, one by one
  *                         │ loads and saves keys    │ KeyedOperator: windows known by their rows
  *                         └ TimerIndex: due keys    │ CheckedSessionOperator: maximum duration
  *                                                   │ SweepOperator: lifetimes
  *                                                   └ SeveralOperator: one of these per window
  * }}}
  *
  * `KeyedOperators` chooses the operator of a spec. `KeyedTaskOperator` is the host in batches:
  * `KeysOfGroup` reads and writes each touched key once in a batch, and finds keys with due
  * timers without reading the others. `KeyJudge` judges each row, and gives each key its
  * watermark.
  */
package object keyed
