package transom.engine.keyed

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.conformance.driver.{Fired, JsonAggregation, KeyedRunner, Row}
import transom.engine.conformance.vector.Json
import transom.engine.firing.{AfterClock, AfterCount, AfterDelta, AfterLateness, AfterWatermark, Condition, Conditions, Delta, Every, Eviction, Evictor, KeepLast, KeepNear, KeepRecent, KeepWhere, Never, ProcessingTimeout, Purging, Trigger, TriggerClock}
import transom.engine.keyed.contract.RowStore
import transom.engine.time.Timeline
import transom.engine.window.{Cumulate, Custom, DynamicSession, Global, GridModel, GridWindow, Hopping, Session, TimeWindow, Tumbling, Window}

class KeyedOperatorPropertiesSuite extends ScalaCheckSuite {
  import KeyedOperatorPropertiesSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(10000))

  property("results, late rows and their times agree with the model of Flink") {
    forAllNoShrink(setups) { setup =>
      forAllNoShrink(steps) { steps =>
        val (model, runner) = (setup.model, setup.runner())
        steps.foreach { step =>
          assertEquals(play(runner, step), play(model, step), s"$setup, $step")
          val (got, expected) = (shown(runner.takeFired()), model.takeFired().map(shownByModel))
          assertEquals(counted(got), counted(expected), s"$setup, $step")
        }
      }
    }
  }

  property("results fired by the watermark do not depend on when the key advances") {
    forAllNoShrink(setups) { setup =>
      forAllNoShrink(steps) { steps =>
        val (stepwise, atOnce) = (setup.runner(), setup.runner())
        val byWatermark = steps.filterNot(_.isInstanceOf[Tick])
        byWatermark.foreach { step =>
          play(stepwise, step)
          if (step.isInstanceOf[Arrived]) play(atOnce, step)
        }
        Seq(stepwise, atOnce).foreach(_.advance(byWatermark.last.watermark + 1))
        assertEquals(
          counted(stepwise.takeFired().map(complete)),
          counted(atOnce.takeFired().map(complete)),
          s"$setup")
      }
    }
  }

  property("no state, row or timer is left when the input has ended") {
    forAllNoShrink(setups) { setup =>
      forAllNoShrink(steps) { steps =>
        val runner = setup.runner()
        steps.foreach(play(runner, _))
        runner.fire(Long.MaxValue)
        assert(runner.isEmpty, s"$setup")
      }
    }
  }

  /** Runs a step. Returns whether the step is a late row. */
  private def play(runner: KeyedRunner, step: Step): Boolean = step match {
    case arrived: Arrived => runner.process(Seq(arrived.row), arrived.watermark).nonEmpty
    case Watermark(to) =>
      runner.advance(to)
      false
    case Tick(to, _) =>
      runner.tick(to)
      false
  }

  private def play(model: FlinkModel, step: Step): Boolean = step match {
    case arrived: Arrived => model.process(arrived.row, arrived.clock)
    case Watermark(to) =>
      model.advance(to - 1)
      false
    case Tick(to, _) =>
      model.tick(to - 1)
      false
  }

  private def shown(fired: Seq[Fired]): Seq[(TimeWindow, Seq[Any])] =
    fired.map(result => (result.window, result.values.map(_.value).sortBy(_.toString)))

  private def shownByModel(fired: (TimeWindow, Seq[Row])): (TimeWindow, Seq[Any]) =
    (fired._1, fired._2.map(_.value.value).sortBy(_.toString))

  private def complete(fired: Fired): Any =
    (fired.window, fired.values.map(_.value), fired.pane)

  private def counted[T](some: Seq[T]): Map[T, Int] = some.groupMapReduce(identity)(_ => 1)(_ + _)
}

object KeyedOperatorPropertiesSuite {

  sealed trait Step {

    /** The watermark after the step. */
    def watermark: Long
  }

  /** A row that arrives at `watermark` and at the wall-clock time `clock`. */
  final case class Arrived(time: Long, value: Long, gap: Long, watermark: Long, clock: Long)
      extends Step {

    def row: Row = {
      val own = Seq(TimeWindow(time - 3, time + gap), TimeWindow(time, time + 5))
      Row(key, Json.parse(value.toString), Some(time), 0L, clock, gap, own.distinct)
    }
  }

  /** A new watermark: no later row has a time before `watermark`. */
  final case class Watermark(watermark: Long) extends Step

  /** A tick of the wall clock: all times before `to` have passed. */
  final case class Tick(to: Long, watermark: Long) extends Step

  private val key = Json.parse("0")

  /** Steps in event time and processing time. Event times rise and fall. */
  val steps: Gen[List[Step]] = {
    val by = Gen.choose(1L, 9L)
    val move = Gen.frequency(
      6 -> Gen
        .zip(Gen.choose(-12L, 12L), Gen.choose(0L, 9L), Gen.choose(1L, 12L))
        .map { case (shift, value, gap) =>
          (watermark: Long, clock: Long) =>
            Arrived(watermark + shift, value, gap, watermark, clock - 1)
        },
      2 -> by.map(by => (watermark: Long, _: Long) => Watermark(watermark + by)),
      1 -> by.map(by => (watermark: Long, clock: Long) => Tick(clock + by, watermark)))
    Gen.choose(1, 40).flatMap(Gen.listOfN(_, move)).map { moves =>
      moves
        .scanLeft[(Step, Long)]((Watermark(0L), 1L)) { case ((before, clock), move) =>
          move(before.watermark, clock) match {
            case tick: Tick => (tick, tick.to)
            case step => (step, clock)
          }
        }
        .map(_._1)
    }
  }

  final case class OperatorSetup(
      window: Window,
      timeline: Timeline,
      trigger: Trigger,
      evictor: Option[Evictor],
      lateness: Long) {

    private val ends = window match {
      case Global => Timeline.Endless
      case _ => timeline
    }

    private def timeOf(row: Row) = if (timeline == Timeline.Clock) row.clock else row.time.get

    def model: FlinkModel = {
      val (assign, merges): (Row => Seq[TimeWindow], Boolean) = window match {
        case grid: GridWindow => (row => GridModel.windows(grid, timeOf(row)), false)
        case session: Session =>
          (row => Seq(TimeWindow(timeOf(row), timeOf(row) + session.gapUs)), true)
        case _: DynamicSession =>
          (row => Seq(TimeWindow(timeOf(row), timeOf(row) + row.gap)), true)
        case Custom(_, merging) => (_.windows, merging)
        case _ => (_ => Seq(TimeWindow(0, Timeline.EndOfTime)), false)
      }
      new FlinkModel(assign, ends, merges, trigger, evictor, lateness)
    }

    def plan(contents: RowStore[Row]): KeyedPlan[Row, Vector[Json]] =
      KeyedPlan
        .of(
          window,
          timeline,
          trigger,
          evictor,
          new JsonAggregation(_.map(_.value)),
          contents,
          TestConditions)
        .copy(allowedLateness = lateness, countsPanes = window != Global)

    def runner(): KeyedRunner = new KeyedRunner(window, timeline, lateness = lateness)(plan)
  }

  private object TestConditions extends Conditions[Row, Vector[Json]] {
    override def condition(column: Int): Condition[Row, Vector[Json]] =
      values => row => ModelTriggers.holds(row, values.size)
    override def delta(column: Int): Delta[Row] = ModelTriggers.delta(_, _)
  }

  private val windows: Gen[Window] = for {
    size <- Gen.choose(1L, 12L)
    slide <- Gen.choose(1L, 12L)
    steps <- Gen.choose(1L, 4L)
    window <- Gen.oneOf(
      Tumbling(size),
      Hopping(size, slide),
      Cumulate(size * steps, size),
      Session(size),
      DynamicSession(0),
      Custom(0),
      Custom(0, merging = true),
      Global)
  } yield window

  private val evictors: Gen[Option[Evictor]] = for {
    number <- Gen.choose(1, 8)
    when <- Gen.oneOf(Eviction.Before, Eviction.After)
    evictor <- Gen.oneOf(
      KeepLast(number, when),
      KeepRecent(number.toLong, when),
      KeepNear(0, number.toDouble, when),
      KeepWhere(0, when))
    some <- Gen.frequency(3 -> None, 1 -> Some(evictor))
  } yield some

  /** A trigger for windows that end by `timeline`. */
  private def triggers(window: Window, timeline: Timeline): Gen[Trigger] = {
    val number = Gen.choose(1, 7)
    val isEvent = timeline == Timeline.Event && window != Global
    val merges = window.assigner(timeline).isMerging
    val count = number.map(AfterCount)
    val everyEvent = number.map(n => Every(n.toLong))
    val everyClock = Gen
      .zip(number, Gen.oneOf(true, false))
      .map { case (n, aligned) => Every(n.toLong, TriggerClock.Processing, aligned) }
    // Processing-time intervals are early triggers only. In event time, Flink limits their timers
    // to the end of the window, but compares this end with the wall clock.
    val early = Gen.option(Gen.oneOf(count, everyEvent, everyClock))
    val late =
      if (merges) Gen.oneOf(None, Some(AfterCount(1)))
      else Gen.oneOf(None, Some(AfterCount(1)), Some(AfterCount(2)))
    val ends = Gen.zip(early, late).map { case (early, late) => AfterWatermark(early, late) }
    val plain: Gen[Trigger] =
      if (isEvent) {
        val plainEnds = Gen.oneOf(AfterWatermark(), AfterLateness)
        Gen.oneOf[Trigger](ends, plainEnds, count, everyEvent, Gen.const(Never))
      } else if (timeline == Timeline.Clock && window != Global) {
        Gen.oneOf[Trigger](Gen.const(AfterClock), everyClock, count)
      } else if (timeline == Timeline.Event) Gen.oneOf[Trigger](count, everyEvent)
      else Gen.oneOf[Trigger](count, everyClock)
    val unmerged: Gen[Trigger] = Gen.oneOf(
      number.map(n => AfterDelta(0, n.toDouble)),
      for {
        inner <- plain
        after <- Gen.choose(1L, 9L)
        reset <- Gen.oneOf(true, false)
        clear <- Gen.oneOf(true, false)
      } yield ProcessingTimeout(inner, after, reset, clear))
    val some = if (merges) plain else Gen.frequency(3 -> plain, 1 -> unmerged)
    Gen.frequency(3 -> some, 1 -> some.map(Purging))
  }

  val setups: Gen[OperatorSetup] = for {
    window <- windows
    timeline <- window match {
      case _: Custom => Gen.const(Timeline.Event)
      case _ => Gen.frequency(3 -> Timeline.Event, 1 -> Timeline.Clock)
    }
    trigger <- triggers(window, timeline)
    evictor <- evictors
    lateness <- Gen.frequency(1 -> Gen.const(0L), 2 -> Gen.choose(1L, 20L))
  } yield OperatorSetup(window, timeline, trigger, evictor, lateness)
}
