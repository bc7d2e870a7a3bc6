package org.apache.spark.sql.transom

import munit.FunSuite

class ExplainSuite extends FunSuite {

  test("durations are said in the units that they are whole in") {
    val said = Seq(
      0L -> "0 seconds",
      1L -> "1 microsecond",
      1000000L -> "1 second",
      5400000000L -> "1 hour 30 minutes",
      -90000000L -> "-1 minute -30 seconds",
      (7L * 86400 + 1) * 1000000 + 2000 -> "7 days 1 second 2 milliseconds")
    said.foreach { case (micros, text) => assertEquals(Explain.duration(micros), text) }
  }
}
