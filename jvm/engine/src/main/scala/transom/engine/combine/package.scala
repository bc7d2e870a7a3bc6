package transom.engine

/** The hash tables in which a map-side task aggregates its rows before the exchange.
  *
  * {{{
  * row ──► AccumulatorTables.locate ──► accumulator of key and slice, or of a session ──► segments
  * }}}
  *
  * Keys and accumulators lie in large byte arrays (`RecordPages`), because objects for each key
  * would cost more than the aggregation. `MemoryUsage` counts the bytes of all tables. A task
  * that reaches its limit sends its segments early and starts again, so it never spills. A table
  * is sorted only when it is sent. The operator expects sorted segments, so it merges them
  * without sorting.
  */
package object combine
