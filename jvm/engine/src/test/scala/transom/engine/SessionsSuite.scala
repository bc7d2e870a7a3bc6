package transom.engine

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

class SessionsSuite extends ScalaCheckSuite {

  private val windows: Gen[List[TimeWindow]] = Gen.listOf(for {
    start <- Gen.choose(-100L, 100L)
    length <- Gen.choose(0L, 12L)
  } yield TimeWindow(start, start + length))

  test("a row exactly one gap away extends the session") {
    val first = Sessions.windowOf(0, 10)
    assert(Sessions.intersects(first, Sessions.windowOf(10, 10)))
    assert(!Sessions.intersects(first, Sessions.windowOf(11, 10)))
  }

  test("a row exactly one gap away opens a new session if the gap is strict") {
    val first = Sessions.windowOf(0, 10)
    assert(!Sessions.intersects(first, Sessions.windowOf(10, 10), inclusive = false))
    assert(Sessions.intersects(first, Sessions.windowOf(9, 10), inclusive = false))
  }

  test("a session at the end of time stays there") {
    assertEquals(Sessions.windowOf(Long.MaxValue - 1, 10).end, Long.MaxValue)
  }

  property("a row joins a session exactly when it is at most one gap from one of its rows") {
    forAll(Gen.nonEmptyListOf(Gen.choose(0L, 200L)), Gen.choose(1L, 20L)) { (times, gap) =>
      val sorted = times.sorted
      val breaks = sorted.zip(sorted.drop(1)).count { case (a, b) => b - a > gap }
      val merged = Sessions.merge(times.map(Sessions.windowOf(_, gap)))
      assertEquals(merged.size, breaks + 1)
    }
  }

  property("merged sessions are apart, cover their sources and lose none") {
    forAll(windows, Gen.oneOf(true, false)) { (windows, inclusive) =>
      val merged = Sessions.merge(windows, inclusive)
      merged.zip(merged.drop(1)).foreach { case (a, b) =>
        assert(!Sessions.intersects(a.window, b.window, inclusive))
      }
      merged.foreach { group =>
        assertEquals(group.sources.map(_.start).min, group.window.start)
        assertEquals(group.sources.map(_.end).max, group.window.end)
      }
      assertEquals(merged.flatMap(_.sources).groupBy(identity), windows.groupBy(identity))
    }
  }

  property("adding windows one by one gives the sessions of them all, in any order") {
    forAll(windows) { windows =>
      def addAll(some: Seq[TimeWindow]) =
        some.foldLeft(MergingWindowSet())((set, window) => set.add(window).set)
      val expected = Sessions.merge(windows).map(_.window).toSet
      assertEquals(addAll(windows).names.keySet, expected)
      assertEquals(addAll(windows.reverse).names.keySet, expected)
    }
  }

  property("each name in use belongs to one session, and names given up are reported once") {
    forAll(windows) { windows =>
      var set = MergingWindowSet()
      var stored = Set.empty[TimeWindow]
      windows.foreach { window =>
        val added = set.add(window)
        assert(added.session.covers(window))
        set = added.set
        stored = stored + set.names(added.session) -- added.folded
        assertEquals(set.names.values.toSet, stored)
        assertEquals(set.names.size, stored.size)
      }
    }
  }

  test("a bridge joins two sessions under the name of one of them") {
    val set = MergingWindowSet().add(TimeWindow(0, 3)).set.add(TimeWindow(5, 8)).set
    val bridged = set.add(TimeWindow(3, 5))
    assertEquals(bridged.session, TimeWindow(0, 8))
    assertEquals(bridged.merged, Seq(TimeWindow(0, 3), TimeWindow(5, 8)))
    assertEquals(bridged.set.names, Map(TimeWindow(0, 8) -> TimeWindow(0, 3)))
    assertEquals(bridged.folded, Seq(TimeWindow(5, 8)))
  }

  test("a window that a session covers changes nothing") {
    val set = MergingWindowSet().add(TimeWindow(0, 9)).set
    val added = set.add(TimeWindow(2, 4))
    assertEquals(added.merged, Seq.empty)
    assertEquals(added.set, set)
  }

  test("a retired session takes in no more windows") {
    val set = MergingWindowSet().add(TimeWindow(0, 9)).set.retire(TimeWindow(0, 9))
    assertEquals(set.add(TimeWindow(2, 4)).session, TimeWindow(2, 4))
  }
}
