package transom.engine.judge

import munit.FunSuite

import transom.engine.conformance.driver.Specs
import transom.engine.spec._
import transom.engine.time.Watermark
import transom.engine.window.{RowContext, Tumbling}

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

  test("the furthest watermark is the greatest of all sources, read or not") {
    val before = new Sources(tasks = 2)
    before.identify(0, "a")
    assertEquals(before.furthest, NotYet)
    before.identify(1, "b")
    before.advance(0, 10)
    before.advance(1, 5)
    assertEquals(before.furthest, Some(10))
    val sources = new Sources(tasks = 1, before.saved())
    assertEquals(sources.furthest, Some(10))
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
    val before = new Sources(tasks = 2)
    before.identify(0, "a")
    before.identify(1, "b")
    before.advance(0, 10)
    before.advance(1, 20)
    val state = before.saved()
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

  test("a new partition holds the watermark back until it has a row") {
    val before = new Sources(tasks = 1)
    before.identify(0, "a")
    before.advance(0, 10)
    val state = before.saved()
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
    val before = new Sources(tasks = 2)
    before.identify(0, "a")
    before.identify(1, "b")
    before.advance(0, 10)
    before.advance(1, 20)
    val state = before.saved()
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
    val before = new Sources(tasks = 2, idle = Some(60))
    before.tick(1000)
    before.identify(0, "a")
    before.identify(1, "b")
    before.advance(1, 5)
    before.tick(1050)
    before.advance(0, 30)
    before.tick(1060)
    assertEquals(before.watermark, Some(30))
    val state = before.saved()
    val sources = new Sources(tasks = 2, state, idle = Some(60))
    assertEquals(sources.watermark, Some(30))
    sources.identify(1, "b")
    assertEquals(sources.met(1, sinceBegin = NotYet), Some(30))
  }

  test("a source may be silent for longer than a batch, and no time passes between batches") {
    val before = new Sources(tasks = 2, idle = Some(60))
    before.tick(1000)
    before.identify(0, "a")
    before.identify(1, "b")
    before.advance(0, 10)
    before.advance(1, 5)
    before.tick(1040)
    val state = before.saved()
    val sources = new Sources(tasks = 2, state, idle = Some(60))
    sources.identify(0, "a")
    assert(!sources.tick(5000))
    sources.advance(0, 30)
    assert(!sources.tick(5019))
    assert(sources.tick(5020))
    assertEquals(sources.watermark, Some(30))
  }

  test("sources that have never had a row may be silent for longer than a batch") {
    val before = new Sources(tasks = 2, idle = Some(60))
    before.identify(0, "a")
    before.advance(0, 10)
    before.tick(1000)
    before.tick(1040)
    val state = before.saved()
    val sources = new Sources(tasks = 2, state, idle = Some(60))
    sources.identify(0, "a")
    assert(!sources.tick(5000))
    assert(sources.tick(5020))
    assertEquals(sources.watermark, Some(10))
  }

  test("windows with rows close once all sources have been silent") {
    val sources = new Sources(tasks = 2, closing = Some(60))
    sources.tick(1000)
    sources.identify(0, "a")
    sources.identify(1, "b")
    sources.met(0, sinceBegin = NotYet, time = 1)
    sources.met(1, sinceBegin = NotYet, time = 25)
    sources.tick(1030)
    // The first source says that it is not silent.
    sources.met(0, sinceBegin = Some(1), time = 2)
    assert(!sources.tick(1089))
    assertEquals(sources.watermark, NotYet)
    assert(sources.tick(1090))
    assertEquals(sources.watermark, Some(30))
    assert(!sources.tick(2000))
    assertEquals(sources.closes, 1)
    // The next rows are late by the windows that have closed.
    assertEquals(sources.met(0, sinceBegin = Some(2), time = 3), Some(30))
    val state = sources.saved()
    assertEquals(new Sources(tasks = 2, state, closing = Some(60)).watermark, Some(30))
  }

  test("the windows of a batch close in the next one") {
    val before = new Sources(tasks = 1, closing = Some(60))
    before.identify(0, "a")
    before.met(0, sinceBegin = NotYet, time = 1)
    before.tick(1000)
    before.tick(1050)
    val state = before.saved()
    val sources = new Sources(tasks = 1, state, closing = Some(60))
    assert(!sources.tick(7000))
    assert(sources.tick(7010))
    assertEquals(sources.watermark, Some(10))
  }

  test("all tasks see the first row of a slice, and a row now and then") {
    val rows = SeenRows.of(tens(policy, closing = Some(60 * Second))).get
    assert(rows.isSeen(time = Second, nowMs = 5000))
    assert(!rows.isSeen(time = 2 * Second, nowMs = 5001))
    assert(rows.isSeen(time = 10 * Second, nowMs = 5002))
    assert(!rows.isSeen(time = 9 * Second, nowMs = 5003))
    assert(!rows.isSeen(time = RowContext.NoTime, nowMs = 5101))
    assert(rows.isSeen(time = RowContext.NoTime, nowMs = 5102))
  }

  test("without a rule for silence no task sees rows of other keys") {
    assertEquals(SeenRows.of(tens(policy, closing = None)), None)
  }

  test("if windows do not wait for silent sources, a row now and then is enough") {
    val rows =
      SeenRows.of(tens(policy.copy(idlePartitionUs = Some(200000L)), closing = None)).get
    assert(rows.isSeen(time = Second, nowMs = 5000))
    assert(!rows.isSeen(time = 10 * Second, nowMs = 5049))
    assert(rows.isSeen(time = 11 * Second, nowMs = 5050))
  }
}

private object ReportedWatermarksSuite {
  private val Second = 1000000L
  val NotYet: Option[Int] = None

  private val policy = TimePolicy(
    timeColumn = Some(0),
    arrivalColumn = None,
    partitionColumn = Some(1),
    partitions = Nil,
    overColumns = Nil,
    early = None,
    late = None,
    outOfOrder = Accept(0),
    advance = TimePolicyLogicSuite.policy().advance,
    idlePartitionUs = None,
    estimateArrival = false)

  /** Windows of ten seconds.
    *
    * @param closing
    *   how long the input may be silent before its windows close, in microseconds
    */
  private def tens(policy: TimePolicy, closing: Option[Long]): WindowSpec =
    Specs
      .of(Tumbling(10 * Second), policy)
      .copy(idleTimeout = closing.map(IdleTimeout(_, IdleRule.LastRow)))

  /** Watermarks in seconds; None if there is none. */
  final class Sources(
      tasks: Int,
      state: Option[Array[Byte]] = None,
      idle: Option[Int] = None,
      closing: Option[Int] = None) {
    private val windows =
      tens(policy.copy(idlePartitionUs = idle.map(_ * Second)), closing.map(_ * Second))
    private val reported = new ReportedWatermarks(windows.policy.get, windows, state.orNull)
    if (tasks > 0) begin(tasks): Unit

    def begin(tasks: Int): Boolean = reported.begin(tasks)
    def identify(task: Int, id: String): Boolean = reported.identify(task, id.getBytes)
    def advance(task: Int, to: Int): Boolean =
      reported.advance(task, to * Second, Watermark.NotYet)
    def tick(at: Int): Boolean = reported.tick(at * Second)
    def closes: Int = reported.idleCloses
    def saved(): Option[Array[Byte]] = Some(reported.saved())

    def watermark: Option[Int] = inSeconds(reported.watermark)
    def furthest: Option[Int] = inSeconds(reported.furthest)

    /** The watermark that a row meets. */
    def met(task: Int, sinceBegin: Option[Int], time: Int = 1000): Option[Int] = {
      val judgement = new Judgement
      val own = sinceBegin.fold(Watermark.NotYet)(_ * Second)
      reported.noteRow(task)
      reported.judge(task, own, Watermark.NotYet, time * Second, 0L, judgement)
      assert(reported.metBy(task, own) == judgement.watermark)
      inSeconds(judgement.watermark)
    }

    private def inSeconds(us: Long): Option[Int] =
      Option.when(us != Watermark.NotYet)((us / Second).toInt)
  }
}
