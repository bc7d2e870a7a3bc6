package transom.engine.window

import java.util.TreeMap

import scala.jdk.CollectionConverters._

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.keyed.keystate.KeyState

class SessionsSuite extends ScalaCheckSuite {

  private val windows: Gen[List[TimeWindow]] = Gen.listOf(for {
    start <- Gen.choose(-100L, 100L)
    length <- Gen.choose(1L, 12L)
  } yield TimeWindow(start, start + length))

  test("a row exactly one gap away extends the session") {
    val first = Sessions.windowOf(0, 10)
    assert(Sessions.intersects(first, Sessions.windowOf(10, 10), inclusive = true))
    assert(!Sessions.intersects(first, Sessions.windowOf(11, 10), inclusive = true))
  }

  test("a row exactly one gap away opens a new session if the gap is strict") {
    val first = Sessions.windowOf(0, 10)
    assert(!Sessions.intersects(first, Sessions.windowOf(10, 10), inclusive = false))
    assert(Sessions.intersects(first, Sessions.windowOf(9, 10), inclusive = false))
  }

  test("a session at the end of time stays there") {
    assertEquals(Sessions.windowOf(Long.MaxValue - 1, 10).end, Long.MaxValue)
  }

  /** Adds the windows one by one. Returns the merged windows, each with its number of parts. */
  private def addAll(
      windows: Seq[TimeWindow],
      inclusive: Boolean = true): TreeMap[TimeWindow, Int] = {
    val live = new TreeMap[TimeWindow, Int](KeyState.ByBounds)
    windows.foreach { window =>
      val target = MergingWindows.targetOf(live, window, inclusive)
      live.keySet.removeIf(target.bounds.contains(_)): Unit
      live.put(target.bounds, target.sources.sum + 1)
    }
    live
  }

  property("a row joins a session exactly when it is at most one gap from one of its rows") {
    forAll(Gen.nonEmptyListOf(Gen.choose(0L, 200L)), Gen.choose(1L, 20L)) { (times, gap) =>
      val sorted = times.sorted
      val breaks = sorted.zip(sorted.drop(1)).count { case (a, b) => b - a > gap }
      assertEquals(addAll(times.map(Sessions.windowOf(_, gap))).size, breaks + 1)
    }
  }

  property("p4: merged sessions are apart, cover their sources and lose none, in any order") {
    forAll(windows, Gen.oneOf(true, false)) { (windows, inclusive) =>
      val merged = addAll(windows, inclusive).asScala.toSeq
      merged.zip(merged.drop(1)).foreach { case ((a, _), (b, _)) =>
        assert(!Sessions.intersects(a, b, inclusive))
      }
      merged.foreach { case (session, sources) =>
        val within = windows.filter(session.contains)
        assertEquals(within.map(_.start).min, session.start)
        assertEquals(within.map(_.end).max, session.end)
        assertEquals(within.size, sources)
      }
      assertEquals(merged.map(_._2).sum, windows.size)
      assertEquals(addAll(windows.reverse, inclusive).asScala.toSeq, merged)
    }
  }

  private def parts(target: MergingWindows.MergeTarget[Int]) =
    (target.bounds, target.sources.toSeq, target.isMerge)

  test("a bridge joins two sessions") {
    val live = addAll(Seq(TimeWindow(0, 3), TimeWindow(5, 8)))
    val bridged = MergingWindows.targetOf(live, TimeWindow(3, 5), inclusive = true)
    assertEquals(parts(bridged), (TimeWindow(0, 8), Seq(1, 1), true))
    val apart = MergingWindows.targetOf(live, TimeWindow(3, 5), inclusive = false)
    assertEquals(parts(apart), (TimeWindow(3, 5), Seq.empty[Int], false))
  }

  test("a window that a session covers changes nothing") {
    val target = MergingWindows.targetOf(addAll(Seq(TimeWindow(0, 9))), TimeWindow(2, 4), true)
    assertEquals(parts(target), (TimeWindow(0, 9), Seq(1), false))
  }
}
