package org.apache.spark.sql.transom

/** The clock source: a streaming source whose rows are ticks of the wall clock, or the end of the
  * input.
  *
  * Spark's timers by processing time would run ahead of the rows. A tick is an offset of a source
  * instead. So the checkpoint holds each tick, and a batch that runs again sees the same clock.
  * The drain uses the same way: a control row after the last row of an `availableNow` run moves
  * the watermark to the end of time.
  */
package object clock
