package org.apache.spark.sql.transom.exec

import java.util.UUID

import munit.FunSuite

import transom.engine.runtime.TouchedWindows

class OpenWindowGaugeSuite extends FunSuite {
  private val run = UUID.randomUUID()

  test("key groups that a batch does not touch count as they were") {
    val windows = new OpenWindowGauge
    assertEquals(
      windows.after(run, Seq(1 -> Some((5L, 9L)), 2 -> Some((1L, 3L)))),
      Some((1L, 9L)))
    assertEquals(windows.after(run, Seq(2 -> Some((4L, 4L)))), Some((4L, 9L)))
    assertEquals(windows.after(run, Nil), Some((4L, 9L)))
    assertEquals(windows.after(run, Seq(1 -> None)), Some((4L, 4L)))
    assertEquals(windows.after(run, Seq(2 -> None)), None)
  }

  test("the open rows of all key groups are added up") {
    val windows = new OpenWindowGauge
    assertEquals(windows.rowsAfter(run, Seq(1 -> Some(5L), 2 -> Some(7L))), 12L)
    assertEquals(windows.rowsAfter(run, Seq(2 -> Some(6L))), 11L)
    assertEquals(windows.rowsAfter(run, Nil), 11L)
    assertEquals(windows.rowsAfter(UUID.randomUUID(), Seq(3 -> Some(1L))), 1L)
  }

  test("a run knows nothing of the key groups of other runs") {
    val windows = new OpenWindowGauge
    windows.after(run, Seq(1 -> Some((5L, 9L)))): Unit
    assertEquals(windows.after(UUID.randomUUID(), Seq(2 -> Some((7L, 7L)))), Some((7L, 7L)))
    val touched = Seq(new TouchedWindows(reached = 0L, closings = Map(5L -> 9L)))
    assertEquals(windows.afterTouching(run, touched), Some((5L, 5L)))
    assertEquals(windows.afterTouching(run, Nil), Some((5L, 5L)))
    assertEquals(windows.afterTouching(UUID.randomUUID(), Nil), None)
  }

  test("two runs of one DataFrame keep what each has seen") {
    val windows = new OpenWindowGauge
    val other = UUID.randomUUID()
    val touched = Seq(new TouchedWindows(reached = 0L, closings = Map(5L -> 9L)))
    windows.after(run, Seq(1 -> Some((5L, 9L)))): Unit
    windows.afterTouching(run, touched): Unit
    windows.rowsAfter(run, Seq(1 -> Some(3L))): Unit
    assertEquals(windows.after(other, Seq(1 -> Some((7L, 7L)))), Some((7L, 7L)))
    assertEquals(windows.afterTouching(other, Nil), None)
    assertEquals(windows.rowsAfter(other, Seq(2 -> Some(1L))), 1L)
    assertEquals(windows.after(run, Nil), Some((5L, 9L)))
    assertEquals(windows.afterTouching(run, Nil), Some((5L, 5L)))
    assertEquals(windows.rowsAfter(run, Nil), 3L)
    assertEquals(windows.after(other, Nil), Some((7L, 7L)))
    assertEquals(windows.rowsAfter(other, Nil), 1L)
  }
}
