package transom.engine.judge

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.firing.EveryBatch
import transom.engine.runtime.RowCounts
import transom.engine.spec._
import transom.engine.state.Limits
import transom.engine.window._
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json

/** Windows behind a time stage: the layouts and the batches of rows change nothing. */
class PolicyWindowsSuite extends ScalaCheckSuite {
  import PolicyWindowsSuite._
  import TimeStageSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(2000))

  property("results, late rows and counts do not depend on batches or on the layout") {
    forAllNoShrink(alsoSeveral, policies, streams, cuts) { (window, policy, rows, cuts) =>
      val single = policy.copy(overColumns = Nil)
      // One partition, or several.
      val partitions = 1 + rows.length % 4
      val stream = rows.map(row => row.copy(source = row.source % partitions))
      val spec = specOf(window, single)
      val expected = played(keyed(spec), single, stream.map(Seq(_)), rows)
      val operators = Seq(keyed(spec)) ++ (window match {
        case _: GridWindow | _: Windows =>
          Seq(new GridOperator(spec, GridOperator.SmallBundles))
        case _ => Nil
      })
      operators.foreach { operator =>
        val got = played(operator, single, batches(stream, cuts), rows)
        assertEquals(got, expected, s"$window, $single, $stream, ${operator.getClass}")
      }
    }
  }

  property("p2: windows see no late row behind a policy that accepts none out of order") {
    forAllNoShrink(windows, policies, strict, streams) { (window, policy, rule, rows) =>
      val strictly = policy.copy(overColumns = Nil, outOfOrder = rule)
      val spec = specOf(window, strictly)
      // Each partition has a row before the watermark moves.
      val partitions = 1 + rows.length % 4
      val first = (0 until partitions).map(Input(_, 100, 100))
      val stream = first ++ rows.map(row => row.copy(source = row.source % partitions))
      val operators = Seq(new KeyedRunner(spec)) ++ (window match {
        case _: GridWindow => Seq(new GridOperator(spec, GridOperator.SmallBundles))
        case _ => Nil
      })
      operators.foreach { operator =>
        played(operator, strictly, Seq(stream), first ++ rows): Unit
        val late = operator.counts(RowCounts.Late) + operator.counts(RowCounts.LatePartly)
        assertEquals(late, 0L, s"$window, $strictly, $stream, ${operator.getClass}")
      }
    }
  }

  property("with EveryBatch, the last result of each window has all of its rows") {
    forAllNoShrink(windows, policies, streams, cuts) { (window, policy, rows, cuts) =>
      val single = policy.copy(overColumns = Nil)
      val stream = rows.map(_.copy(source = 0))
      val spec = specOf(window, single)
      val (expected, _) = played(keyed(spec), single, Seq(stream), rows)
      val eachBatch = new KeyedRunner(spec.copy(trigger = EveryBatch))
      val (got, _) = played(eachBatch, single, batches(stream, cuts), rows)
      assertEquals(expected.diff(got), Nil, s"$window, $single, $stream, $cuts")
    }
  }

  test("generated streams have rows that are late for windows of their own batch") {
    val seen = Generators.samples(600, Gen.zip(windows, policies, streams)).map {
      case (window, policy, rows) =>
        val single = policy.copy(overColumns = Nil)
        val operator = keyed(specOf(window, single))
        played(operator, single, Seq(rows.map(_.copy(source = 0))), rows)
        operator.counts(RowCounts.Late) + operator.counts(RowCounts.LatePartly)
    }
    assert(seen.count(_ > 0) > 50, seen.count(_ > 0))
  }
}

private[engine] object PolicyWindowsSuite {
  import TimeStageSuite._

  val windows: Gen[Window] = for {
    closed <- Gen.oneOf(Closed.Left, Closed.Right)
    size <- Gen.choose(1L, 24L)
    step <- Gen.choose(1L, 24L)
    window <- Gen.oneOf[Window](
      Tumbling(size, closed = closed),
      Hopping(size, step, 0L, closed = closed),
      Cumulate(size * 3, size, 0L, closed = closed),
      Session(size, inclusive = true, closed),
      Session(size, inclusive = false, closed))
  } yield window

  private val several: Gen[Window] = for {
    closed <- Gen.oneOf(Closed.Left, Closed.Right)
    size <- Gen.choose(1L, 24L)
    step <- Gen.choose(1L, 24L)
    members = Seq(Tumbling(step, closed = closed), Hopping(size, step, 0L, closed = closed))
  } yield Windows(members.distinct.map(NamedWindow(None, _)))

  val alsoSeveral: Gen[Window] = Gen.frequency(4 -> windows, 1 -> several)

  def specOf(window: Window, policy: TimePolicy): WindowSpec =
    Specs.of(window, time = policy, lateRows = LateRows.Partly)

  private type Result = (Int, Any, Option[TimeWindow], Seq[String])

  private def keyed(spec: WindowSpec): Operator = spec.window match {
    case _: Windows => new SeveralRunner(spec, Limits.Default)
    case _ => new KeyedRunner(spec)
  }

  /** Plays batches of rows through the stage and an operator, and returns results, rows of side
    * outputs and counts, without order.
    *
    * @param keyed
    *   the rows with the numbers that stand for their keys
    */
  def played(
      operator: Operator,
      policy: TimePolicy,
      batches: Seq[Seq[Input]],
      keyed: Seq[Input]): (Seq[Result], Seq[String]) = {
    val runner = new Runner(policy, Some(specOf(Tumbling(1), policy)))
    var number = 0
    val outputs = batches.flatMap { batch =>
      val before = runner.watermark
      val accepted = runner.batch(batch).flatMap { stamped =>
        number += 1
        val key = Json.parse(s"${keyed(number - 1).source % 3}")
        Option.when(stamped.dropped.isEmpty && !stamped.isPunctuation)(
          Row(
            key,
            Json.parse(s"$number"),
            Some(stamped.time),
            number.toLong,
            met = Some(stamped.met)))
      }
      operator.batch(accepted, before, runner.watermark)
    } ++ operator.batch(Nil, runner.watermark, Long.MaxValue)
    assert(operator.isEmpty, "state is left after the end of time")
    val results = outputs.collect { case fired: Fired =>
      (
        fired.member,
        fired.key.value,
        Option(fired.window),
        fired.values.map(_.value.toString).sorted)
    }
    val side = outputs.collect { case side: SideRow => side.toString } ++
      RowCounts.all.map(count => s"${count.name} ${operator.counts(count)}")
    (results.sortBy(_.toString), side.sorted)
  }
}
