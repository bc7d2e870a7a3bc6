package org.apache.spark.sql.transom.aggregate

import scala.util.Random

import munit.ScalaCheckSuite
import org.apache.spark.sql.transom.TestPlans
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.state.ByteRange

/** Aggregates rows in parts and merges the parts, as the slice log does. */
class AggregationInPartsSuite extends ScalaCheckSuite {
  import SampleAggregates._

  private val Parts = 4

  /** Splits rows into parts, at random. The same seed gives the same split. */
  private def split[T](rows: Seq[T], seed: Long): Seq[Seq[T]] = {
    val random = new Random(seed)
    rows.groupBy(_ => random.nextInt(Parts)).values.toSeq
  }

  private final class InParts(cases: Seq[Case]) {
    private val plan = TestPlans.of(Nil, inputs, cases.map(_.aggregate))
    val updates = new PartialAggregation(plan, plan.record)
    private val merges = new FinalAggregation(plan)
    private val noKey = new ByteRange().set(new Array[Byte](8), 0, 8)

    /** Updates the accumulators of all parts in one table, row by row in turn. */
    def accumulators(parts: Seq[Seq[Sample]]): Seq[ByteRange] = {
      val size = updates.initial.length
      val table = Array.fill(parts.length)(updates.initial).flatten
      for {
        i <- 0 until parts.map(_.length).maxOption.getOrElse(0)
        (part, at) <- parts.zipWithIndex
        if i < part.length
      } updates.update(table, at * size, part(i).record)
      parts.indices.map(at => copyOf(updates.encode(new ByteRange().set(table, at * size, size))))
    }

    def merged(accumulators: Seq[ByteRange]): ByteRange = {
      merge(accumulators)
      copyOf(merges.accumulator)
    }

    def results(accumulators: Seq[ByteRange]): Seq[Option[Any]] = {
      merge(accumulators)
      evaluated()
    }

    /** The results after the merged accumulator has been read. */
    def resultsAfterReading(accumulators: Seq[ByteRange]): Seq[Option[Any]] = {
      merge(accumulators)
      merges.accumulator: Unit
      evaluated()
    }

    private def evaluated(): Seq[Option[Any]] = {
      val row = merges.result(noKey, 0L, 0L)
      plan.output.results.map(i => resultOf(row, i, plan.output.types(i)))
    }

    private def merge(accumulators: Seq[ByteRange]): Unit = {
      merges.start(accumulators.head)
      accumulators.tail.foreach(merges.merge(_))
    }
  }

  private def assertResults(cases: Seq[Case], found: Seq[Option[Any]], rows: Seq[Sample]): Unit =
    cases.zip(found).foreach { case (one, found) =>
      val expected = one.expected(rows)
      assert(areEqual(found, expected), s"${one.name} is $found instead of $expected")
    }

  Seq(
    "of fixed width" -> fixedWidth,
    "of objects" -> ofObjects,
    "mixed" -> (fixedWidth ++ ofObjects))
    .foreach { case (name, cases) =>
      property(s"accumulators $name: parts that are merged in any order equal the whole") {
        val inParts = new InParts(cases)
        forAll(samples, Gen.long) { (rows, seed) =>
          val parts = inParts.accumulators(split(rows, seed))
          val shuffled = new Random(seed).shuffle(parts)
          assertResults(cases, inParts.results(shuffled), rows)
          inParts.updates.clear()
        }
      }

      property(s"accumulators $name: merged parts can be merged again") {
        val inParts = new InParts(cases)
        forAll(samples, Gen.long) { (rows, seed) =>
          val parts = inParts.accumulators(split(rows, seed))
          val (some, others) = parts.splitAt(parts.length / 2)
          val merged = Seq(some, others).filter(_.nonEmpty).map(inParts.merged)
          assertResults(cases, inParts.results(merged), rows)
          inParts.updates.clear()
        }
      }

      property(s"accumulators $name: an accumulator can be read before its result") {
        val inParts = new InParts(cases)
        forAll(samples, Gen.long) { (rows, seed) =>
          val parts = inParts.accumulators(split(rows, seed))
          assertResults(cases, inParts.resultsAfterReading(parts), rows)
          inParts.updates.clear()
        }
      }

      property(s"accumulators $name: rows that cross alone merge with parts") {
        val inParts = new InParts(cases)
        forAll(samples, samples, Gen.long) { (rows, alone, seed) =>
          val parts = inParts.accumulators(split(rows, seed))
          val singles =
            alone.map(row => copyOf(inParts.updates.accumulatorOf(row.record)))
          val shuffled = new Random(seed).shuffle(parts ++ singles)
          assertResults(cases, inParts.results(shuffled), rows ++ alone)
          inParts.updates.clear()
        }
      }
    }

  test("only accumulators of fixed width are updated in place") {
    assert(new InParts(fixedWidth).updates.inPlace)
    ofObjects.foreach(one => assert(!new InParts(Seq(one)).updates.inPlace, one.name))
  }
}
