package transom.engine.judge

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.runtime.RowCounts
import transom.engine.spec._
import transom.engine.time.Watermark
import transom.engine.window.{RowContext, Tumbling}
import transom.engine.conformance.driver.Specs

/** Punctuation of an input with partitions, against the definition of its watermark. */
class PunctuationSuite extends ScalaCheckSuite {
  import PunctuationSuite._
  import TimeStageSuite.{Runner, batches, cuts}

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(2000))

  property("stamps and the watermark are those of the definition, however rows are cut") {
    forAllNoShrink(policies, streams, cuts) { (policy, rows, cuts) =>
      val (stamps, watermark) = modelled(policy, rows)
      Seq(Seq(rows), rows.map(Seq(_)), batches(rows, cuts)).foreach { cut =>
        val runner = new Runner(policy, Some(Specs.of(Tumbling(1), time = policy)))
        assertEquals(cut.flatMap(runner.batch).map(shown), stamps, s"$policy, $cut")
        assertEquals(runner.watermark, watermark, s"$policy, $cut")
        assertEquals(
          runner.counts(RowCounts.Punctuation),
          rows.count(_.isPunctuation).toLong,
          s"$policy, $cut")
      }
    }
  }

  test("generated rows are accepted, moved, dropped, and dropped because they are over") {
    val seen =
      Generators.samples(600, Gen.zip(policies, streams)).flatMap { case (policy, rows) =>
        val isOver = policy.outOfOrder.isInstanceOf[Adjust]
        modelled(policy, rows)._1.map(stamp => s"${stamp.outcome} $isOver")
      }
    val counted = seen.groupBy(identity).map { case (name, all) => name -> all.length }
    Seq("accepted false", "adjusted true", "dropped false", "dropped true", "punctuation false")
      .foreach(name => assert(counted.getOrElse(name, 0) > 100, s"$name: $counted"))
  }
}

private object PunctuationSuite {
  import TimeStageSuite.{Input, Output}

  /** A stamp: the watermark of the windows that a row met, and what became of the row. */
  final case class Shown(met: Long, time: Option[Long], outcome: String)

  private val bounds = Gen.choose(0L, 6L)
  private val besides: Gen[Option[Periodic]] = Gen.oneOf(
    Gen.const(None),
    Gen.choose(1, 3).map(rows => Some(Periodic(Some(rows), None))),
    Gen.choose(2L, 9L).map(every => Some(Periodic(None, Some(every)))))

  val policies: Gen[TimePolicy] = for {
    beside <- besides
    rule <- Gen.oneOf[TimeRule](bounds.map(Accept(_)), bounds.map(Drop(_)), bounds.map(Adjust(_)))
  } yield TimeStageSuite
    .policy(None, Nil)
    .copy(
      partitionColumn = Some(2),
      outOfOrder = rule,
      advance = Punctuated(whenColumn = 3, atColumn = 4, beside))

  /** Rows of one to three partitions, whose times wander. Most lifetimes are short. */
  val streams: Gen[Seq[Input]] = for {
    partitions <- Gen.choose(1, 3)
    steps <- Gen.nonEmptyListOf(
      Gen.zip(
        Gen.choose(0, partitions - 1),
        Gen.choose(-9L, 9L),
        Gen.frequency(2 -> false, 1 -> true),
        Gen.option(Gen.choose(1L, 12L))))
  } yield steps.zipWithIndex.map { case ((partition, ahead, isPunctuation, lasts), i) =>
    val time = i + ahead
    Input(partition, time, i.toLong, isPunctuation, lasts.fold(RowContext.NoEnd)(time + _))
  }

  def shown(output: Output): Shown = Shown(
    output.met,
    Option.when(output.dropped.isEmpty)(output.time),
    if (output.isPunctuation) "punctuation"
    else if (output.dropped.isDefined) "dropped"
    else if (output.isAdjusted) "adjusted"
    else "accepted")

  /** The stamps of rows, and the watermark of the windows after them. Each watermark is computed
    * from all rows before it.
    */
  def modelled(policy: TimePolicy, rows: Seq[Input]): (Seq[Shown], Long) = {
    // What became of the rows so far: the partition, the time in force, and the row.
    var past = Vector.empty[(Input, Shown)]
    var ofWindows = Watermark.NotYet
    rows.foreach { row =>
      val stamp = stampOf(policy, row, watermarkOf(policy, past, row.source), ofWindows)
      past :+= ((row, stamp))
      val least = past.map(_._1.source).distinct.map(watermarkOf(policy, past, _)).min
      ofWindows = math.max(ofWindows, least)
    }
    (past.map(_._2), ofWindows)
  }

  private def stampOf(policy: TimePolicy, row: Input, own: Long, ofWindows: Long): Shown = {
    def dropped = Shown(ofWindows, None, "dropped")
    def accepted = Shown(ofWindows, Some(row.time), "accepted")
    if (row.isPunctuation) Shown(ofWindows, Some(row.time), "punctuation")
    else if (row.time >= own) accepted
    else
      policy.outOfOrder match {
        case _: Accept => accepted
        case _: Drop => dropped
        case _: Adjust if row.end <= own => dropped
        case _: Adjust => Shown(ofWindows, Some(own), "adjusted")
      }
  }

  private def watermarkOf(policy: TimePolicy, past: Seq[(Input, Shown)], partition: Int): Long = {
    val (punctuation, data) =
      past.filter(_._1.source == partition).partition(_._1.isPunctuation)
    val times = data.flatMap(_._2.time)
    val beside = policy.advance.periodic.flatMap {
      case Periodic(Some(rows), _) => times.take(times.length / rows * rows).maxOption
      case Periodic(_, every) =>
        times.maxOption.map(time => Math.floorDiv(time, every.get) * every.get)
    }
    (punctuation.map(_._1.time) ++ beside.map(_ - policy.outOfOrder.beyondUs)).maxOption
      .getOrElse(Watermark.NotYet)
  }
}
