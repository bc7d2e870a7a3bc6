package org.apache.spark.sql.transom

import munit.FunSuite

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

import transom.engine.spec.{Custom, Hopping}

class PlacingSuite extends FunSuite {
  private val placing = new Placing(Custom(0))

  private def listing(spans: Any*): UnsafeRow = {
    val span = new StructType().add("start", LongType).add("end", LongType)
    val listed = if (spans == Seq(null)) null else ArrayData.toArrayData(spans.toArray[Any])
    val columns =
      Seq(BoundReference(0, LongType, false), BoundReference(1, ArrayType(span), true))
    InterpretedUnsafeProjection.createProjection(columns)(InternalRow(0L, listed)).copy()
  }

  test("windows of a row are spans") {
    val good = InternalRow(1L, 2L)
    assertEquals(placing.problem(listing()), None)
    assertEquals(placing.problem(listing(good, InternalRow(5L, 9L))), None)
    Seq(InternalRow(2L, 2L), InternalRow(3L, 2L), InternalRow(null, 2L), InternalRow(1L, null))
      .foreach { bad =>
        assertEquals(placing.problem(listing(good, bad)), Some(DeadLetter.BadWindows))
      }
    assertEquals(placing.problem(listing(good, null)), Some(DeadLetter.BadWindows))
    assertEquals(placing.problem(listing(null)), Some(DeadLetter.BadWindows))
  }

  test("a row has no more than ten million windows") {
    assertEquals(Hopping.MostWindowsPerRow, 10000000L)
    val row = listing(InternalRow(1L, 2L))
    // Its bytes alone would be 240 MB: all that is looked at is the number in front of them.
    val array = row.getBaseOffset + (row.getLong(Placing.Column) >>> 32)
    Platform.putLong(row.getBaseObject, array, 10000001L)
    assertEquals(placing.problem(row), Some(DeadLetter.TooManyWindows))
  }
}
