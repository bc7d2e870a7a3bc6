package org.apache.spark.sql.transom

/** The map side of an operator, and the rows between the map side and the operator.
  *
  * {{{
  * rows ──► MapSide: time, key, late? ──► combined: segments ─┐
  *            │ dead letters, counts  └► alone: chunks ───────┴► exchange ──► events of the engine
  * }}}
  *
  * The exchange costs about the same for a row of any size. So many rows or accumulators travel
  * in one. The kind of a payload is a column, and its bytes are the engine's. With a time policy
  * whose rows stay with their tasks, only times travel to the stage, and stamps come back.
  */
package object exchange
