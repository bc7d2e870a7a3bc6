package org.apache.spark.sql.transom

/** The logical and physical nodes of an operator, and what they report to the driver.
  *
  * {{{
  * rows ──► WindowMapSide ──► ByKeyGroup ──► TransformWithState ──► KeyGroupOutputs ──► OutputRows
  *           │ in the reading task  │ Spark's exchange  │ KeyGroupProcessor  │ counts      │ results
  *           └ TimeStageMapSide in front, if a policy judges rows             └ gauges
  * }}}
  *
  * Spark's stateful operator has a cost for each row that enters and leaves. So a row that
  * crosses the exchange holds many rows, and a key group leaves one object with an iterator. The
  * nodes around the operator pack and unpack them. `ReplayedOrder` and `RepeatableOrder` decide
  * which rows may stay with their tasks: only rows that come back in the same order when Spark
  * reads them again.
  */
package object exec
