package org.apache.spark.sql.transom.task

import munit.ScalaCheckSuite
import org.scalacheck.{Gen, Test}
import org.scalacheck.Prop.forAll

class GroupTimerSuite extends ScalaCheckSuite {

  // Each case opens a state store of its own.
  override protected def scalaCheckTestParameters: Test.Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(10).withMaxSize(30)

  private val times =
    Gen.frequency(5 -> Gen.choose(-5000L, 5000L), 1 -> Gen.const(Long.MaxValue), 1 -> Gen.long)

  test("a timer is rounded up to milliseconds, so that it never expires too early") {
    assertEquals(GroupTimer.at(5000L), Some(5L))
    assertEquals(GroupTimer.at(5001L), Some(6L))
    assertEquals(GroupTimer.at(5999L), Some(6L))
    assertEquals(GroupTimer.at(Long.MaxValue - 1), Some(Long.MaxValue / 1000 + 1))
  }

  test("a timer up to 1970 waits for the first watermark") {
    Seq(0L, -1L, -999999L, -62135596800000000L).foreach { time =>
      assertEquals(GroupTimer.at(time), Some(1L))
    }
  }

  test("without a next timer the group has no Spark timer") {
    assertEquals(GroupTimer.at(Long.MaxValue), None)
  }

  property("a key group has at most one Spark timer, the one that was set last") {
    forAll(Gen.listOf(Gen.zip(Gen.choose(0, 2), times))) { moves =>
      StateStoreHandle.using { state =>
        moves.foldLeft(Map.empty[Int, Option[Long]]) { case (timers, (group, time)) =>
          val to = GroupTimer.at(time)
          state.select(group)
          GroupTimer.move(state.handle, timers.getOrElse(group, None), to)
          val moved = timers.updated(group, to)
          moved.foreach { case (group, timer) =>
            state.select(group)
            assertEquals(state.handle.listTimers().toSeq, timer.toSeq)
          }
          moved
        }: Unit
      }
    }
  }
}
