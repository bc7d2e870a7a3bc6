package org.apache.spark.sql.transom

import transom.engine.conformance.driver.Specs
import transom.engine.spec._
import transom.engine.window.Tumbling

/** A spec that tests change. */
object TestSpecs {

  /** Aggregates over windows of an hour. Column 0 is the key, column 1 the time, and columns 2
    * and 3 are the aggregates.
    */
  val hours: WindowSpec =
    Specs
      .of(Tumbling(3600000000L), EventTime(1), lateRows = LateRows.No)
      .copy(
        keyColumns = Seq(0),
        function = AggFunction(Seq(2, 3)),
        drain = false,
        keyGroups = 128,
        tickUs = 1000000,
        rowLog = 0)
}
