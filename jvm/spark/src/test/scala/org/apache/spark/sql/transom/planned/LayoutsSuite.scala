package org.apache.spark.sql.transom.planned

import munit.FunSuite
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.{Count => CountFunction, _}
import org.apache.spark.sql.transom.TestSpecs
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.types.LongType

import transom.engine.spec.{Layout, WindowSpec}

class LayoutsSuite extends FunSuite {
  private val hours = TestSpecs.hours
  private val n = AttributeReference("n", LongType)()

  /** What the slice log does not support in a spec. */
  private def unsupported(spec: WindowSpec, functions: AggregateFunction*): Option[String] = {
    val choice = Layouts.choose(spec, functions)
    assertEquals(choice.layout == SliceLayout, choice.unsupportedBySlices.isEmpty)
    choice.unsupportedBySlices
  }

  test("aggregates that depend on the order of rows need the keyed layout if there is an order") {
    val ordered = hours.copy(orderColumns = Seq(1))
    val list = new CollectList(n)
    assertEquals(unsupported(hours, list), None)
    assertEquals(
      unsupported(ordered, CountFunction(Seq(n)), new Sum(n), Min(n), new StddevSamp(n)),
      None)
    assertEquals(
      unsupported(ordered, CountFunction(Seq(n)), list),
      Some("collect_list() in the order of stream(order=)"))
  }

  test("a user may ask for the keyed layout, and for the slice log if it supports the spec") {
    val keyed = Layouts.choose(hours.copy(layout = Layout.Keyed), Nil)
    assertEquals(keyed, LayoutChoice(KeyedLayout, None))
    val slices = hours.copy(layout = Layout.Slices)
    assertEquals(Layouts.choose(slices, Nil), LayoutChoice(SliceLayout, None))
    val error = intercept[TransomException](Layouts.choose(slices.copy(pane = true), Nil))
    assertEquals(error.getCondition, "TRANSOM_LAYOUT_UNSUPPORTED")
    assertEquals(error.getMessageParameters.get("part"), "with_pane()")
  }

  test("an unknown function may depend on the order of rows") {
    val ordered = hours.copy(orderColumns = Seq(1))
    Seq(First(n, ignoreNulls = false), new CollectSet(n), MaxBy(n, Literal(1))).foreach {
      function => assert(unsupported(ordered, function).isDefined, function.prettyName)
    }
  }
}
