package transom.engine.time

import munit.FunSuite

class AdvanceSuite extends FunSuite {
  test("the later one of each watermark counts, and an unknown one comes before all others") {
    val first = Advance(before = 1L, after = 9L, byRows = 5L)
    assertEquals(first.max(Advance(2L, 8L, 7L)), Advance(2L, 9L, 7L))
    assertEquals(first.max(Advance.Unknown), first)
    assertEquals(Advance.from(3L).max(Advance.to(4L)), Advance(3L, 4L, 4L))
  }

  test("another convention moves all three, and an unknown watermark stays unknown") {
    val shifted = Advance.to(4L).map(Watermark.minus(_, 1L))
    assertEquals(shifted, Advance(Watermark.NotYet, 3L, 3L))
  }
}
