package transom.engine

/** The operator contract, and the rules that do not depend on the state layout.
  *
  * {{{
  * map side: RowRules ──► RowRouter ──► exchange ──► GroupInput ──► KeyGroupOperator ──► results
  *           dead letters  late, slice                    ▲ state, timers, clock    side outputs
  *                                                        └ host                    counts, gauges
  * }}}
  *
  * A host opens a `KeyGroupOperator` on the state of a key group, passes the inputs of a batch,
  * and pulls the results one by one. It knows no rule. `RowRules` and `RowRouter` run where a row
  * is read, so that rows can be combined before they are sent. `LogTaskOperator` is the operator
  * of both logs; the keyed layout has its own. `RowCounts` and `Gauges` travel with the results,
  * so a task that runs again replaces its figures.
  */
package object runtime
