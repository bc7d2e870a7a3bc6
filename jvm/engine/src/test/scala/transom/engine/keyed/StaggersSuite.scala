package transom.engine.keyed

import munit.FunSuite

import transom.engine.window.{Stagger, Tumbling}

class StaggersSuite extends FunSuite {

  private val window = Tumbling(5000, offsetUs = 1000)

  test("aligned windows keep their offset") {
    assertEquals(Staggers.offset(Stagger.Aligned, window, group = 3, firstRow = 1234), 1000L)
  }

  test("naturally staggered windows start at the first row of the key group") {
    assertEquals(Staggers.offset(Stagger.Natural, Tumbling(5000), 3, firstRow = 150), 150L)
    assertEquals(Staggers.offset(Stagger.Natural, window, 3, firstRow = 6200), 1200L)
  }

  test("random offsets differ between key groups and are the same when computed again") {
    def draw(group: Int) = Staggers.offset(Stagger.Random, window, group, 0L)
    val draws = (0 until 128).map(draw)
    assertEquals((0 until 128).map(draw), draws)
    assert(draws.forall(offset => 0 <= offset && offset < 5000))
    assert(draws.distinct.size > 100)
  }
}
