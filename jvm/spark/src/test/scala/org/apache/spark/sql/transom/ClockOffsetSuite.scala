package org.apache.spark.sql.transom

import munit.FunSuite

class ClockOffsetSuite extends FunSuite {

  test("an offset comes back from the checkpoint as it was") {
    ClockPhase.all.foreach { phase =>
      val offset = ClockOffset(1L << 40, phase)
      assertEquals(ClockOffset.ofJson(offset.json), offset)
    }
  }

  test("the offsets in checkpoints keep their form") {
    assertEquals(
      ClockOffset.start.next(ClockPhase.Ended).next(ClockPhase.Fired).json,
      """{"tick":2,"phase":"fired"}""")
  }
}
