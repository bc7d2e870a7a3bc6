package org.apache.spark.sql.transom.function

import munit.FunSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class PythonPartialsSuite extends FunSuite {
  private val state = BoundReference(0, BinaryType, nullable = true)
  private val row = BoundReference(1, LongType, nullable = true)

  private def input(state: Option[String], row: Long): InternalRow =
    InternalRow(state.map(_.getBytes).orNull, row)

  // Python returns the accumulator of a place in the first row of the place.
  private val rows = Seq(input(Some("of 1 and 2"), 1L), input(None, 2L), input(Some("of 3"), 3L))

  /** The collected parts: state and row. */
  private def collected(function: Expression): Seq[(Option[String], Option[Long])] =
    function match {
      case list: CollectList =>
        val buffer = rows.foldLeft(list.createAggregationBuffer())(list.update)
        list
          .eval(buffer)
          .asInstanceOf[ArrayData]
          .toArray[InternalRow](list.child.dataType)
          .toSeq
          .map { part =>
            (
              Option.when(!part.isNullAt(0))(new String(part.getBinary(0))),
              Option.when(!part.isNullAt(1))(part.getLong(1)))
          }
      case other => fail(s"$other does not collect")
    }

  test("without accumulators all rows are collected") {
    assertEquals(
      collected(PythonPartials(state, row, removes = false).replacement),
      Seq((None, Some(1L)), (None, Some(2L)), (None, Some(3L))))
  }

  test("accumulators are collected once each, without rows") {
    assertEquals(
      collected(PythonPartials(state, row, removes = false).accumulated(AccumulatorId(Nil))),
      Seq((Some("of 1 and 2"), None), (Some("of 3"), None)))
  }

  test("the place of a row replaces the placeholder inside the call of Python") {
    val place = AccumulatorId(Seq(row))
    val parts = PythonPartials(Concat(Seq(state, AccumulatorId(Nil))), row, removes = false)
    val places = parts.accumulated(place).collect { case found: AccumulatorId => found }
    assertEquals(places.distinct, Seq(place))
  }

  test("rows have the same place exactly if they share key and slice") {
    val place =
      AccumulatorId(Seq(BoundReference(0, StringType, true), BoundReference(1, LongType, true)))
    def placeOf(key: String, slice: Long): Seq[Byte] =
      place.eval(InternalRow(UTF8String.fromString(key), slice)) match {
        case bytes: Array[Byte] => bytes.toSeq
        case other => fail(s"$other are not bytes")
      }
    assertEquals(placeOf("key", 5L), placeOf("key", 5L))
    val others =
      Seq(placeOf("key", 5L), placeOf("key", 6L), placeOf("kez", 5L), placeOf(null, 5L))
    assertEquals(others.distinct.length, 4)
  }
}
