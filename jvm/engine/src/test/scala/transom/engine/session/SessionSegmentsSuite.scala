package transom.engine.session

import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.{Generators, LogTest}
import transom.engine.conformance.driver.{Fired, Row, RowList, SessionOperator}
import transom.engine.state._
import transom.engine.window.{Sessions, TimeWindow}

/** A batch reads and writes few segments of sessions, however many are stored. */
class SessionSegmentsSuite extends LogTest {

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(150))

  property("sessions close correctly if each record fills a segment") {
    val keys = "abcdefgh".map(_.toString * (Segment.SessionTargetSize + 1))
    forAllNoShrink(Gen.choose(1L, 60L), steps(0L, 60L, keys)) { (gap, steps) =>
      compare(steps, 0L, new SessionOperator(gap), new SessionContents(gap, inclusive = true))
    }
  }

  test("the reads of a small batch depend on the closing sessions, not on the open ones") {
    def readsWithOpen(sessions: Int): Double = {
      val gap = 100000L
      val memory = new MemoryStore
      val store = new CountingStore(memory)
      def withLog[A](body: SessionLog[Fired] => A): A = {
        val slices = new SliceDirectory(store)
        val log = new SessionLog(gap, true, slices, new RowList, Limits.Default.sessions)
        val answer = body(log)
        log.settle()
        slices.save()
        answer
      }
      def append(times: Iterable[(Int, Long)]): Unit = {
        val rows = times.map { case (key, time) =>
          Row(LogTest.json(s"key $key"), LogTest.json("x" * 100), Some(time), time)
        }.toSeq
        rows.groupBy(row => Sessions.sliceOf(row.time.get, gap)).foreachEntry { (_, held) =>
          val writer = new SegmentWriter
          held.sortBy(_.hash).foreach { row =>
            val bounds = new SessionBounds().set(row.time.get, row.time.get)
            writer.append(row.hash, row.keyBytes, bounds, row.accumulator)
            if (writer.isFull) withLog(_.append(0L, writer.take(), Long.MinValue))
          }
          if (!writer.isEmpty) withLog(_.append(0L, writer.take(), Long.MinValue))
        }
      }
      // Each step closes the same number of sessions. All other sessions end later.
      val closing = 400
      append((0 until closing).map(key => (key, key * 10L)))
      append((closing until sessions).map(key => (key, gap - 1)))
      store.reads = 0
      val fired = (0 until closing / 4).map { step =>
        val watermark = gap + step * 40L + 30
        // One open session gets another row.
        append(Seq((closing + step, watermark)))
        withLog(_.fire(watermark).toVector)
      }
      assertEquals(fired.map(_.length), Vector.fill(closing / 4)(4))
      store.reads.toDouble / fired.length
    }
    val few = readsWithOpen(2000)
    val many = readsWithOpen(40000)
    assert(many <= 1.5 * few + 8, (few, many))
  }

  private def batch(
      store: SegmentStore,
      gap: Long,
      times: Seq[Long],
      watermark: Long): Seq[Fired] = {
    val slices = new SliceDirectory(store)
    val log = new SessionLog(gap, true, slices, new RowList, Limits.Default.sessions)
    times.foreach { time =>
      val writer = new SegmentWriter
      val row = Row(LogTest.json("a"), LogTest.json(time.toString), Some(time), time)
      val bounds = new SessionBounds().set(time, time)
      writer.append(row.hash, row.keyBytes, bounds, row.accumulator)
      log.append(0L, writer.take(), Long.MinValue)
    }
    val fired = log.fire(watermark).toVector
    slices.save()
    fired
  }

  test("rows that arrive together become one record per session, however many slices it spans") {
    val store = new MemoryStore
    batch(store, 10L, (0L to 500L by 5L) ++ (600L to 900L by 10L), Long.MinValue)
    assertEquals(store.size, 2)
  }

  test("a long session leaves no state behind") {
    val (store, gap) = (new MemoryStore, 10L)
    val fired = (0L until 2000L by 4L).flatMap { time =>
      val closed = batch(store, gap, Seq(time, time + 1), time - 2)
      // The runs of the slice at the watermark, and a few entries of the slices around it.
      assert(store.size <= SliceDirectory.MaxRuns + 4, (time, store.size))
      closed
    }
    assertEquals(fired.length, 0)
    assertEquals(batch(store, gap, Nil, 2100L).map(_.window), Seq(TimeWindow(0L, 2007L)))
    assertEquals(store.size, 0)
  }
}
