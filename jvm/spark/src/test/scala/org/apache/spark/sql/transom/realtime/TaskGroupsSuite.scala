package org.apache.spark.sql.transom.realtime

import munit.ScalaCheckSuite
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.transom.{TestPlans, TestSession, TestSpecs}
import org.apache.spark.sql.transom.exchange.{ExchangeEncoder, ExchangeFormat, PayloadKind}
import org.apache.spark.sql.transom.planned.SliceLayout
import org.apache.spark.sql.types.LongType
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

/** The key groups of a task that are due.
  *
  * The task keeps the key groups that have rows and lower bounds of all times, so that a firing
  * need not look at each key group. The model here looks at each of them.
  */
class TaskGroupsSuite extends ScalaCheckSuite {
  import TaskGroupsSuite._

  // A task derives its limits from the environment of Spark.
  override def beforeAll(): Unit = TestSession.spark: Unit

  property("due is what has rows, or a timer or segments that the watermark has reached") {
    forAll(Gen.listOf(steps)) { steps =>
      val groups = new TaskGroups(partition = 1, tasks)
      val encoder = new ExchangeEncoder(Nil)
      var model = groups.all.map(_ -> Held(0, Nil, Long.MaxValue)).toMap
      def change(group: Int)(to: Held => Held): Unit = model += group -> to(model(group))
      steps.foreach {
        case Step.Row(at) =>
          val group = groups.all(at)
          groups.add(Iterator.single(encoder.latestArrival(group, 0L)))
          change(group)(held => held.copy(rows = held.rows + 1))
        case Step.Await(at, end) =>
          val group = groups.all(at)
          groups.await(group, end, Array.emptyByteArray)
          change(group)(held => held.copy(ends = end :: held.ends))
        case Step.Fire(watermark, ofAll, timers) =>
          val due = groups.due(watermark, watermark, ofAll)
          assertEquals(
            due.sorted.toList,
            groups.all.filter(ofAll || model(_).isDue(watermark)).toList)
          due.zip(timers).foreach { case (group, timer) =>
            val held = model(group)
            val (ready, left) = held.ends.partition(_ <= watermark)
            val taken = groups.take(group, watermark).map(ExchangeFormat.kindOf).toList
            assertEquals(taken.count(_ == PayloadKind.LatestArrival), held.rows)
            assertEquals(taken.count(_ == PayloadKind.WaitingSegments), ready.length)
            assertEquals(groups.awaiting(group).map(_._1).toList.sorted, left.sorted)
            groups.setTimer(group, timer)
            change(group)(_ => Held(0, left, timer))
          }
      }
    }
  }
}

private object TaskGroupsSuite {
  private final val KeyGroups = 8
  private final val Partitions = 2

  val tasks: SourceTasks = {
    val key = AttributeReference("key", LongType)()
    val plan = TestPlans.of(
      Seq(key),
      Nil,
      Seq(TestPlans.aggregate(Count(Seq(Literal(1))))),
      TestSpecs.hours.copy(keyGroups = KeyGroups),
      SliceLayout)
    SourceTasks(
      plan,
      Seq(key, TestPlans.time),
      None,
      None,
      false,
      None,
      None,
      Partitions,
      clocks = 0)
  }

  /** What a key group holds, in the model. */
  final case class Held(rows: Int, ends: List[Long], timer: Long) {
    def isDue(watermark: Long): Boolean =
      rows > 0 || timer <= watermark || ends.exists(_ <= watermark)
  }

  sealed trait Step
  object Step {

    /** A row for a key group, by its position among those of the task. */
    final case class Row(at: Int) extends Step

    /** Segments that wait until windows have fired. */
    final case class Await(at: Int, end: Long) extends Step

    /** A firing, with the timers that the key groups have after it. */
    final case class Fire(watermark: Long, ofAll: Boolean, timers: List[Long]) extends Step
  }

  private val positions = Gen.choose(0, KeyGroups / Partitions - 1)
  private val times = Gen.choose(0L, 10L)
  private val timers =
    Gen.listOfN(KeyGroups / Partitions, Gen.oneOf(times, Gen.const(Long.MaxValue)))

  val steps: Gen[Step] = Gen.frequency(
    3 -> positions.map(Step.Row(_)),
    2 -> Gen.zip(positions, times).map { case (at, end) => Step.Await(at, end) },
    4 -> Gen.zip(times, Gen.frequency(9 -> false, 1 -> true), timers).map {
      case (watermark, ofAll, timers) => Step.Fire(watermark, ofAll, timers)
    })
}
