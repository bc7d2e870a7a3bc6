package transom.engine.judge

import munit.FunSuite

import transom.engine.spec.{Accept, TimePolicy}
import transom.engine.state.{MemoryState, StateMap}
import transom.engine.time.Watermark

/** The watermarks of sources whose tasks run at the same time as the windows. Times are seconds.
  */
class ReportedWatermarksSuite extends FunSuite {
  import ReportedWatermarksSuite._

  test("the watermark of the windows is the least of all sources, and never falls") {
    val sources = new Sources(tasks = 2)
    sources.identify(0, "a")
    sources.identify(1, "b")
    assert(!sources.advance(0, 10))
    assertEquals(sources.watermark, NotYet)
    assert(sources.advance(1, 5))
    assertEquals(sources.watermark, Some(5))
    assert(!sources.advance(1, 4))
    assert(!sources.advance(0, 20))
    assert(sources.advance(1, 30))
    assertEquals(sources.watermark, Some(20))
  }

  test("a task that has not identified its source holds the watermark back") {
    val sources = new Sources(tasks = 2)
    sources.identify(0, "a")
    sources.advance(0, 10)
    assertEquals(sources.watermark, NotYet)
    assert(!sources.identify(1, "b"))
    assert(sources.advance(1, 10))
    assertEquals(sources.watermark, Some(10))
  }

  test("a row meets the watermark of its own source") {
    val sources = new Sources(tasks = 2)
    sources.identify(0, "a")
    sources.identify(1, "b")
    sources.advance(0, 10)
    sources.advance(1, 90)
    assertEquals(sources.met(0, sinceBegin = Some(10)), Some(10))
    // The message about the row comes before the watermark that later rows meet.
    assertEquals(sources.met(0, sinceBegin = Some(15)), Some(15))
    assertEquals(sources.met(1, sinceBegin = Some(90)), Some(90))
  }

  test("watermarks of earlier batches are restored") {
    val state = new MemoryState().map("watermarks")
    val before = new Sources(tasks = 2, state)
    before.identify(0, "a")
    before.identify(1, "b")
    before.advance(0, 10)
    before.advance(1, 20)
    before.save()
    val sources = new Sources(tasks = 0, state)
    assert(sources.begin(2))
    assertEquals(sources.watermark, Some(10))
    // The number of the task is another one now. A row meets the restored watermark.
    sources.identify(1, "a")
    assertEquals(sources.met(1, sinceBegin = NotYet), Some(10))
    assertEquals(sources.met(1, sinceBegin = Some(7)), Some(10))
    assert(!sources.advance(1, 7))
    assert(sources.advance(1, 15))
    assertEquals(sources.watermark, Some(15))
    // Task 0 has no row yet, and reads source b, which is at 20.
    assert(sources.advance(1, 40))
    assertEquals(sources.watermark, Some(20))
  }

  test("watermarks that have not changed are not written again") {
    val written = new MemoryState().map("watermarks")
    val first = new Sources(tasks = 1, written)
    first.identify(0, "a")
    first.advance(0, 10)
    first.save()
    written.remove("a".getBytes)
    first.save()
    assertEquals(written.keys.size, 0)
  }

  test("a new partition holds the watermark back until it has a row") {
    val state = new MemoryState().map("watermarks")
    val before = new Sources(tasks = 1, state)
    before.identify(0, "a")
    before.advance(0, 10)
    before.save()
    val sources = new Sources(tasks = 2, state)
    assertEquals(sources.watermark, NotYet)
    sources.identify(0, "a")
    sources.advance(0, 30)
    assertEquals(sources.watermark, NotYet)
    sources.identify(1, "b")
    assert(sources.advance(1, 12))
    assertEquals(sources.watermark, Some(12))
  }

  test("a source that no task reads any more still counts") {
    val state = new MemoryState().map("watermarks")
    val before = new Sources(tasks = 2, state)
    before.identify(0, "a")
    before.identify(1, "b")
    before.advance(0, 10)
    before.advance(1, 20)
    before.save()
    val sources = new Sources(tasks = 1, state)
    sources.identify(0, "b")
    sources.advance(0, 90)
    assertEquals(sources.watermark, Some(10))
  }

  test("without an idle timeout the wall clock has no effect") {
    val sources = new Sources(tasks = 2)
    sources.identify(0, "a")
    sources.advance(0, 10)
    assert(!sources.tick(1000))
    assertEquals(sources.watermark, NotYet)
  }

  test("the watermark does not wait for silent sources, whose rows meet it") {
    val sources = new Sources(tasks = 2, idle = Some(60))
    sources.tick(1000)
    sources.identify(0, "a")
    sources.identify(1, "b")
    sources.advance(0, 10)
    sources.advance(1, 5)
    sources.tick(1050)
    sources.advance(0, 30)
    assert(!sources.tick(1059))
    assertEquals(sources.watermark, Some(5))
    assert(sources.tick(1060))
    assertEquals(sources.watermark, Some(30))
    // A row of the silent source is late by the watermark of the windows. It is not silent now.
    assertEquals(sources.met(1, sinceBegin = Some(5)), Some(30))
    assert(!sources.advance(0, 50))
    assertEquals(sources.watermark, Some(30))
    assert(sources.advance(1, 45))
    assertEquals(sources.watermark, Some(45))
  }

  test("without a source that has rows the watermark stays") {
    val sources = new Sources(tasks = 1, idle = Some(60))
    sources.tick(1000)
    sources.identify(0, "a")
    sources.advance(0, 10)
    assert(!sources.tick(2000))
    assertEquals(sources.watermark, Some(10))
  }

  test("a task without any row is silent too") {
    val sources = new Sources(tasks = 2, idle = Some(60))
    sources.tick(1000)
    sources.identify(0, "a")
    sources.advance(0, 10)
    assertEquals(sources.watermark, NotYet)
    sources.tick(1050)
    sources.advance(0, 20)
    assert(sources.tick(1060))
    assertEquals(sources.watermark, Some(20))
  }

  test("the watermark of the windows does not fall behind a silent source after a restart") {
    val state = new MemoryState().map("watermarks")
    val before = new Sources(tasks = 2, state, idle = Some(60))
    before.tick(1000)
    before.identify(0, "a")
    before.identify(1, "b")
    before.advance(1, 5)
    before.tick(1050)
    before.advance(0, 30)
    before.tick(1060)
    assertEquals(before.watermark, Some(30))
    before.save()
    val sources = new Sources(tasks = 2, state, idle = Some(60))
    assertEquals(sources.watermark, Some(30))
    sources.identify(1, "b")
    assertEquals(sources.met(1, sinceBegin = NotYet), Some(30))
  }
}

private object ReportedWatermarksSuite {
  private val Second = 1000000L
  val NotYet: Option[Int] = None

  private val policy = TimePolicy(
    timeColumn = Some(0),
    arrivalColumn = None,
    partitionColumn = None,
    partitions = Nil,
    overColumns = Nil,
    early = None,
    late = None,
    outOfOrder = Accept(0),
    advance = TimePolicyLogicSuite.policy().advance,
    idlePartitionUs = None,
    estimateArrival = false)

  /** Watermarks in seconds; None if there is none. */
  final class Sources(
      tasks: Int,
      state: StateMap = new MemoryState().map("watermarks"),
      idle: Option[Int] = None) {
    private val reported =
      new ReportedWatermarks(new TimePolicyLogic(policy), state, idle.map(_ * Second))
    if (tasks > 0) begin(tasks): Unit

    def begin(tasks: Int): Boolean = reported.begin(tasks)
    def identify(task: Int, id: String): Boolean = reported.identify(task, id.getBytes)
    def advance(task: Int, to: Int): Boolean =
      reported.advance(task, to * Second, Watermark.NotYet)
    def tick(at: Int): Boolean = reported.tick(at * Second)
    def save(): Unit = reported.save()

    def watermark: Option[Int] = inSeconds(reported.watermark)

    /** The watermark that a row meets. */
    def met(task: Int, sinceBegin: Option[Int]): Option[Int] = {
      val judgement = new Judgement
      val own = sinceBegin.fold(Watermark.NotYet)(_ * Second)
      reported.judge(task, own, Watermark.NotYet, 1000 * Second, Watermark.NotYet, judgement)
      inSeconds(judgement.watermark)
    }

    private def inSeconds(us: Long): Option[Int] =
      Option.when(us != Watermark.NotYet)((us / Second).toInt)
  }
}
