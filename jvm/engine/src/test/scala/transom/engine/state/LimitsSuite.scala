package transom.engine.state

import munit.FunSuite

class LimitsSuite extends FunSuite {
  private val MiB = 1L << 20
  private val GiB = 1L << 30

  private def byHeap(limits: Limits): Seq[Long] =
    Seq(limits.combined, limits.keys, limits.segments, limits.shared, limits.sessions)

  test("a task with 2 GiB of the heap may use 64 MiB or 32 MiB in each part") {
    assertEquals(byHeap(Limits.of(2 * GiB, 1)), Seq(64L, 64L, 32L, 32L, 32L).map(_ * MiB))
    assertEquals(Limits.Default, Limits.of(2 * GiB, 1))
  }

  test("tasks that run at once share the heap") {
    assertEquals(byHeap(Limits.of(16 * GiB, 8)), byHeap(Limits.of(2 * GiB, 1)))
    assertEquals(Limits.of(12 * GiB, 8).combined, 48 * MiB)
  }

  test("a limit is at least 1 MiB and at most 256 MiB") {
    Seq(0L, 1L, 16 * MiB).foreach(heap =>
      assertEquals(byHeap(Limits.of(heap, 1)), Seq.fill(5)(MiB)))
    Seq(16 * GiB, Long.MaxValue).foreach(heap =>
      assertEquals(byHeap(Limits.of(heap, 1)), Seq.fill(5)(256 * MiB)))
  }

  test("without a number of tasks one task has the heap") {
    Seq(0, -1).foreach(tasks => assertEquals(Limits.of(GiB, tasks), Limits.of(GiB, 1)))
  }

  test("the size of an exchange row and of a state entry does not depend on the heap") {
    val sizes = Seq(MiB, GiB, 100 * GiB).map(Limits.of(_, 4)).map(l => (l.payload, l.bundle))
    assertEquals(sizes.distinct, Seq((48 * 1024, 32 * 1024)))
  }
}
