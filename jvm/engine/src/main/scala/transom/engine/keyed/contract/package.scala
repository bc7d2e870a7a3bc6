package transom.engine.keyed

/** The contract between a host and the windows of a key.
  *
  * {{{
  * state of a key, row, watermark, wall clock ──► PerKeyOperator ──► results, one by one
  *                                                 │    ▲ WindowAggregation: Spark's aggregates
  *                                                 │    └ RowStore: rows of windows, by list
  *                                                 └ Results: builds the rows of the host
  * }}}
  *
  * `PerKeyOperator` holds the rules and no state of a key: it takes the state of a key, changes
  * it, and returns the results, which it computes as they are read. So a host needs only a state,
  * a watermark and a clock, and the results of a key never lie in memory together.
  */
package object contract
