package org.apache.spark.sql.transom

/** Spark's aggregates as accumulators of the engine.
  *
  * The engine sees an accumulator as bytes that can be merged. These classes run the code that
  * Catalyst generates for the user's aggregates: `PartialAggregation` adds a row on the map side,
  * `FinalAggregation` merges in the logs, `KeyedAggregation` does all of it for the keyed layout.
  * So all of Spark's aggregates work, and none is written again.
  */
package object aggregate
