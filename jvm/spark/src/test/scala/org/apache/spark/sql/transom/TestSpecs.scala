package org.apache.spark.sql.transom

import transom.engine.spec._

/** A spec that tests change. */
object TestSpecs {

  /** Aggregates over windows of an hour. Column 0 is the key, column 1 the time, and columns 2
    * and 3 are the aggregates.
    */
  val hours: WindowSpec = WindowSpec(
    name = None,
    keyColumns = Seq(0),
    time = Some(EventTime(1)),
    orderColumns = Nil,
    window = Tumbling(3600000000L),
    trigger = AfterWatermark(),
    evictor = None,
    function = AggFunction(Seq(2, 3)),
    allowedLatenessUs = 0,
    drain = false,
    pane = false,
    retract = false,
    lateRows = LateRows.No,
    deadLetters = false,
    keyGroups = 128,
    layout = Layout.Auto,
    tickUs = 1000000)
}
