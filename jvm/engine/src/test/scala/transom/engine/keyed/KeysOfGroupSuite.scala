package transom.engine.keyed

import java.nio.ByteBuffer

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

import munit.FunSuite

import transom.engine.firing.{AfterClock, AfterCount, AfterWatermark, Every, EveryBatch, Trigger}
import transom.engine.judge.CommonWatermark
import transom.engine.keyed.contract._
import transom.engine.keyed.keystate._
import transom.engine.state.ByteRange
import transom.engine.time.{Advance, Timeline}
import transom.engine.window.{Hopping, RowContext, Session, Tumbling, Window}
import transom.engine.conformance.driver.{JsonAggregation, Row, RowsInMemory}
import transom.engine.conformance.vector.Json

class KeysOfGroupSuite extends FunSuite {

  /** A key group that keeps only its store from one batch to the next. */
  private final class Group(
      window: Window,
      trigger: Trigger,
      maxHeld: Long = 1L << 20,
      timeline: Timeline = Timeline.Event) {
    val store = new CountingStore
    val results = ArrayBuffer.empty[(Int, Long, Seq[Long])]
    private var key = 0
    private val aggregation = new JsonAggregation(identity)
    private val contents = new RowsInMemory
    private val plan = KeyedPlan.of(window, timeline, trigger, None, aggregation, contents, null)
    private val operator = new KeyedOperator(
      plan,
      contents,
      new Results[Row, Vector[Json], Unit] {
        override def pointAt(key: Array[Byte]): Unit = ()
        override def result(window: FiredWindow, values: Vector[Json]): Unit =
          results += ((key, window.end, values.map(_.long)))
        override def ofRows(window: FiredWindow, rows: Iterator[Row]): Iterator[Unit] =
          Iterator.empty
        override def change(window: FiredWindow, change: Change, result: Array[Byte]): Unit =
          ()
        override def windowGone(window: FiredWindow): Unit = ()
      })
    private val codec = new StateCodec(aggregation)

    /** A batch of rows, each with its key and time. The value of a row is its time. */
    def batch(rows: Seq[(Int, Long)], lateWatermark: Long, watermark: Long): Long =
      batch(rows, lateWatermark, watermark, Long.MinValue, hasTicked = false)

    /** A batch of rows in processing time, each with its key. */
    def onClock(keys: Seq[Int], clock: Long, hasTicked: Boolean): Unit =
      batch(keys.map(_ -> clock), Long.MinValue, Long.MinValue, clock, hasTicked): Unit

    private def batch(
        rows: Seq[(Int, Long)],
        lateWatermark: Long,
        watermark: Long,
        clock: Long,
        hasTicked: Boolean): Long = {
      val group = new KeysOfGroup[Row, KeyState[Vector[Json]], Unit](
        operator,
        codec,
        store,
        CommonWatermark,
        bytes => key = ByteBuffer.wrap(bytes).getInt(),
        forgetsAtEnd = false,
        maxHeld)
      rows.foreach { case (key, time) =>
        val arrival = new RowContext
        arrival.time = time
        arrival.watermark = lateWatermark
        arrival.clock = clock
        val row = Row(Json.parse("0"), Json.parse(time.toString), Some(time), 0L, 0L)
        group.reach(keyBytes(key), arrival).foreach(identity)
        group.add(row, arrival, 10).foreach(identity)
      }
      group
        .advance(Advance(lateWatermark, watermark, watermark), clock, hasTicked)
        .foreach(_ => ())
      group.save()
      group.nextTimer
    }

    private def keyBytes(key: Int): ByteRange =
      new ByteRange().set(ByteBuffer.allocate(8).putInt(key).array, 0, 8)
  }

  private final class CountingStore extends MemoryKeyStore {
    var gets = 0
    var puts = 0
    override def get(key: Array[Byte]): Array[Byte] = {
      gets += 1
      super.get(key)
    }
    override def put(key: Array[Byte], state: Array[Byte]): Unit = {
      puts += 1
      super.put(key, state)
    }
  }

  test("a key is read once and written once, however many rows it has") {
    val group = new Group(Tumbling(100), AfterWatermark())
    group.batch(Seq(1 -> 1L, 2 -> 2L, 1 -> 3L), Long.MinValue, 0)
    assertEquals((group.store.gets, group.store.puts), (2, 2))
  }

  test("keys without an expired timer are not read") {
    val group = new Group(Tumbling(10), AfterWatermark())
    val timer = group.batch((0 until 100).map(key => key -> 10L * key), Long.MinValue, 0)
    assertEquals(timer, 10L)
    group.store.gets = 0
    assertEquals(group.batch(Nil, 0, 29), 30L)
    assertEquals(group.store.gets, 2)
    assertEquals(group.results.toSeq, Seq((0, 10L, Seq(0L)), (1, 20L, Seq(10L))))
  }

  test("an extended session is read once at its former end") {
    val group = new Group(Session(10), AfterWatermark())
    assertEquals(group.batch(Seq(1 -> 0L), Long.MinValue, 0), 10L)
    assertEquals(group.batch(Seq(1 -> 5L), 0, 5), 10L)
    assertEquals(group.batch(Nil, 5, 10), 15L)
    assertEquals(group.results.toSeq, Nil)
    assertEquals(group.batch(Nil, 10, 15), Long.MaxValue)
    assertEquals(group.results.toSeq, Seq((1, 15L, Seq(0L, 5L))))
    assertEquals(group.store.size, 0)
  }

  test("a tick advances all keys, and a batch without a tick advances only keys with rows") {
    val group = new Group(Tumbling(10), AfterClock, timeline = Timeline.Clock)
    group.onClock(Seq(1, 2), clock = 3, hasTicked = false)
    group.onClock(Seq(1), clock = 12, hasTicked = false)
    assertEquals(group.results.toSeq, Seq((1, 10L, Seq(3L))))
    group.store.gets = 0
    group.onClock(Nil, clock = 13, hasTicked = true)
    assertEquals(group.results.toSeq.tail, Seq((2, 10L, Seq(3L))))
    // Key 1 is read too, although its timer has moved to a later time.
    assertEquals(group.store.gets, 2)
    group.onClock(Nil, clock = 20, hasTicked = true)
    assertEquals(group.results.toSeq.last, (1, 20L, Seq(12L)))
    assertEquals(group.store.size, 0)
  }

  test("keys beyond the memory limit are written early without changing results") {
    val random = new Random(7)
    val batches =
      Seq.tabulate(6)(n => Seq.fill(60)((random.nextInt(9), n * 50L + random.nextInt(90))))
    Seq(AfterWatermark(), EveryBatch, AfterCount(3), AfterWatermark(Some(Every(20)))).foreach {
      trigger =>
        Seq(Tumbling(40), Hopping(60, 20), Session(7)).foreach { window =>
          val groups = Seq(1L << 20, 500L, 0L).map(new Group(window, trigger, _))
          groups.foreach { group =>
            batches.zipWithIndex.foreach { case (rows, n) =>
              group.batch(rows, (n - 1) * 50L, n * 50L)
            }
            group.batch(Nil, 300, 1000)
            assertEquals(group.store.size, 0, s"$window $trigger")
          }
          val results = groups.map(_.results.sortBy(_.toString).toSeq)
          assert(results.head.nonEmpty)
          assertEquals(results.distinct.length, 1, s"$window $trigger")
        }
    }
  }
}
