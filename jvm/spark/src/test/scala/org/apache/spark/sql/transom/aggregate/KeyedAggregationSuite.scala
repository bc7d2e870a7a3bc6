package org.apache.spark.sql.transom.aggregate

import munit.ScalaCheckSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.transom.{TestPlans, TestSpecs}
import org.apache.spark.sql.transom.planned.{KeyedLayout, WindowOperatorPlan}
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.spec.WindowSpec
import transom.engine.window.Session

/** Aggregates rows one by one and merges windows, as the keyed layout does. */
class KeyedAggregationSuite extends ScalaCheckSuite {
  import SampleAggregates._

  // The map side does not combine the rows of sessions.
  private val sessions = TestSpecs.hours.copy(window = Session(60000000L))

  private def planOf(cases: Seq[Case], settings: WindowSpec = sessions): WindowOperatorPlan =
    TestPlans.of(Nil, inputs, cases.map(_.aggregate), settings, KeyedLayout)

  private def assertResults(cases: Seq[Case], found: InternalRow, rows: Seq[Sample]): Unit =
    cases.zipWithIndex.foreach { case (one, i) =>
      val result = resultOf(found, i, one.aggregate.dataType)
      val expected = one.expected(rows)
      assert(areEqual(result, expected), s"${one.name} is $result instead of $expected")
    }

  Seq("of fixed width" -> fixedWidth, "of objects" -> ofObjects).foreach { case (name, cases) =>
    val aggregation = new KeyedAggregation(planOf(cases))
    def whole(rows: Seq[Sample]): InternalRow =
      rows.foldLeft(aggregation.create())((sum, row) => aggregation.add(sum, row.record))
    def stored(accumulator: InternalRow): InternalRow = {
      val bytes = aggregation.encode(accumulator)
      // A window's accumulator lies between other bytes of its key's state.
      val state = new Array[Byte](16) ++ copyOf(bytes).bytes ++ new Array[Byte](3)
      aggregation.decode(state, 16, bytes.length)
    }

    property(s"accumulators $name: storing them between rows changes no result") {
      forAll(Gen.oneOf(Gen.const(Nil), samples), samples) { (before, after) =>
        val accumulator =
          after.foldLeft(stored(whole(before)))((sum, row) => aggregation.add(sum, row.record))
        assertResults(cases, aggregation.evaluated(accumulator), before ++ after)
      }
    }

    property(s"accumulators $name: a merged window has the rows of both windows") {
      forAll(samples, samples, samples) { (some, others, later) =>
        val merged = aggregation.merge(whole(some), stored(whole(others)))
        val accumulator = later.foldLeft(merged)((sum, row) => aggregation.add(sum, row.record))
        assertResults(cases, aggregation.evaluated(accumulator), some ++ others ++ later)
      }
    }
  }

  property("equal results have equal bytes, and other results have other bytes") {
    val aggregation = new KeyedAggregation(planOf(ofObjects.filterNot(_.name == "collect_list")))
    def bytesOf(rows: Seq[Sample]): Seq[Byte] =
      aggregation
        .result(
          rows.foldLeft(aggregation.create())((sum, row) => aggregation.add(sum, row.record)))
        .toSeq
    forAll(samples) { rows =>
      assertEquals(bytesOf(rows.reverse), bytesOf(rows))
      val other = rows.head.copy(text = Some("another text"))
      assertNotEquals(bytesOf(rows :+ other), bytesOf(rows))
    }
  }

  property("accumulators that the map side has combined are merged") {
    val plan = planOf(fixedWidth, TestSpecs.hours)
    assert(plan.hasMapSideCombine)
    val aggregation = new KeyedAggregation(plan)
    val updates = new PartialAggregation(plan, plan.record)
    forAll(Gen.listOf(samples)) { parts =>
      val accumulator = parts.foldLeft(aggregation.create()) { (sum, rows) =>
        val table = updates.initial.clone
        rows.foreach(row => updates.update(table, 0, row.record))
        val part = new UnsafeRow(plan.buffers.length)
        part.pointTo(table, table.length)
        aggregation.add(sum, part)
      }
      assertResults(fixedWidth, aggregation.evaluated(accumulator), parts.flatten)
    }
  }

  test("a row weighs its size only if accumulators may grow with it") {
    val row = Sample(None, None, None, Some("text")).record
    assertEquals(new KeyedAggregation(planOf(fixedWidth)).weightOf(row), 0)
    assertEquals(new KeyedAggregation(planOf(ofObjects)).weightOf(row), row.getSizeInBytes)
  }
}
