package org.apache.spark.sql.transom.exchange

import munit.FunSuite

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.transom.{TestPlans, TestSpecs}
import org.apache.spark.sql.transom.planned.{KeyedLayout, Placement}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

import transom.engine.runtime.{DeadLetterReason, GroupInput}
import transom.engine.setting.Constants
import transom.engine.spec._
import transom.engine.window.{Cumulate, Custom, Hopping, RowContext, Snapshot, TimeWindow, Tumbling, Window}

class RowWindowReaderSuite extends FunSuite {
  import RowWindowReader._

  private val span = new StructType().add("start", LongType).add("end", LongType)

  private def listing(spans: Any*): UnsafeRow = {
    val listed = if (spans == Seq(null)) null else ArrayData.toArrayData(spans.toArray[Any])
    val columns =
      Seq(BoundReference(0, LongType, false), BoundReference(1, ArrayType(span), true))
    InterpretedUnsafeProjection.createProjection(columns)(InternalRow(0L, listed)).copy()
  }

  test("a window of a row has a start before its end") {
    val good = InternalRow(1L, 2L)
    assertEquals(problemOfWindows(listing()), None)
    assertEquals(problemOfWindows(listing(good, InternalRow(5L, 9L))), None)
    Seq(InternalRow(2L, 2L), InternalRow(3L, 2L), InternalRow(null, 2L), InternalRow(1L, null))
      .foreach { bad =>
        assertEquals(problemOfWindows(listing(good, bad)), Some(DeadLetterReason.BadWindows))
      }
    assertEquals(problemOfWindows(listing(good, null)), Some(DeadLetterReason.BadWindows))
    assertEquals(problemOfWindows(listing(null)), Some(DeadLetterReason.BadWindows))
  }

  test("windows of a row lie in the years 1 to 9999") {
    val first = java.time.Instant.parse("0001-01-01T00:00:00Z").getEpochSecond * 1000000L
    val end = java.time.Instant.parse("+10000-01-01T00:00:00Z").getEpochSecond * 1000000L
    assertEquals(problemOfWindows(listing(InternalRow(first, end))), None)
    Seq(InternalRow(first - 1, end), InternalRow(first, end + 1), InternalRow(0L, Long.MaxValue))
      .foreach { bad =>
        assertEquals(problemOfWindows(listing(bad)), Some(DeadLetterReason.BadWindows))
      }
  }

  test("a gap of a row is positive and at most ten million days") {
    val columns = Seq(BoundReference(0, LongType, false), BoundReference(1, LongType, true))
    val projection = InterpretedUnsafeProjection.createProjection(columns)
    def problem(gap: Any) = problemOfGap(projection(InternalRow(0L, gap)).copy())
    val longest = 10000000L * 86400L * 1000000L
    Seq(1L, longest).foreach(gap => assertEquals(problem(gap), None))
    Seq[Any](null, 0L, -1L, longest + 1, Long.MaxValue).foreach { bad =>
      assertEquals(problem(bad), Some(DeadLetterReason.BadGap))
    }
  }

  test("a lifetime ends after its start, before the year 10000, or never") {
    val columns = Seq(BoundReference(0, LongType, false), BoundReference(1, LongType, true))
    val projection = InterpretedUnsafeProjection.createProjection(columns)
    def problem(start: Long, end: Any, window: Window = Snapshot(), isAdjusted: Boolean = false) =
      problemOfEnd(projection(InternalRow(start, end)).copy(), window, isAdjusted)
    val last = java.time.Instant.parse("+10000-01-01T00:00:00Z").getEpochSecond * 1000000L
    Seq(8L, last - 1, last, RowContext.NoEnd).foreach(end => assertEquals(problem(7L, end), None))
    assertEquals(problem(-7L, -6L), None)
    Seq[Any](null, 7L, 6L, -8L, Long.MinValue, last + 1, RowContext.NoEnd - 1).foreach { bad =>
      assertEquals(problem(7L, bad), Some(DeadLetterReason.BadLifetime), bad)
    }
    // A rule has moved the start behind the end, so the operator finds the row late.
    assertEquals(problem(7L, 6L, isAdjusted = true), None)
  }

  test("a lifetime overlaps at most ten million windows of a grid, unless it has no end") {
    val columns = Seq(BoundReference(0, LongType, false), BoundReference(1, LongType, true))
    val projection = InterpretedUnsafeProjection.createProjection(columns)
    def problem(end: Long, window: Window) =
      problemOfEnd(projection(InternalRow(0L, end)).copy(), window, isAdjusted = false)
    Seq(Tumbling(10), Hopping(30, 10), Cumulate(30, 10)).foreach { window =>
      assertEquals(problem(100000000L, window), None)
      assertEquals(problem(100000010L, window), Some(DeadLetterReason.TooManyWindows))
      assertEquals(problem(RowContext.NoEnd, window), None)
    }
    assertEquals(problem(100000010L, Snapshot()), None)
  }

  test("an edge is bad by its own start and end, or by its timeout if it has no end") {
    val edge = new StructType()
      .add("end", LongType)
      .add("id", new StructType().add("time", LongType).add("tail", StringType))
    val columns = Seq(BoundReference(0, LongType, false), BoundReference(1, edge, true))
    val projection = InterpretedUnsafeProjection.createProjection(columns)
    // A rule may have moved the time of the record.
    def problem(start: Long, end: Long, timeout: Option[Long] = None) = problemOfEdge(
      projection(InternalRow(-99L, InternalRow(end, InternalRow(start, null)))).copy(),
      Tumbling(10),
      Lifetime(endColumn = Some(0), idColumns = Seq(1), timeoutUs = timeout))
    assertEquals(problem(7L, 8L), None)
    assertEquals(problem(7L, 7L), Some(DeadLetterReason.BadLifetime))
    assertEquals(problem(7L, 100000018L), Some(DeadLetterReason.TooManyWindows))
    assertEquals(problem(7L, RowContext.NoEnd), None)
    assertEquals(problem(7L, RowContext.NoEnd, Some(100000000L)), None)
    assertEquals(
      problem(7L, RowContext.NoEnd, Some(100000010L)),
      Some(DeadLetterReason.TooManyWindows))
    val missing = projection(InternalRow(7L, null)).copy()
    val lifetime = Lifetime(endColumn = Some(0), idColumns = Seq(1))
    assertEquals(problemOfEdge(missing, Snapshot(), lifetime), Some(DeadLetterReason.BadLifetime))
  }

  test("a row has at most ten million windows") {
    assertEquals(Constants.MostWindowsPerRow, 10000000)
    val row = listing(InternalRow(1L, 2L))
    // The bytes of this array would be 240 MB. The reader checks the number of windows first.
    val array = row.getBaseOffset + (row.getLong(Column) >>> 32)
    Platform.putLong(row.getBaseObject, array, 10000001L)
    assertEquals(problemOfWindows(row), Some(DeadLetterReason.TooManyWindows))
  }

  test("a window that a row lists twice is one window of the row") {
    val windows = AttributeReference("windows", ArrayType(span))()
    val settings = TestSpecs.hours.copy(window = Custom(2))
    val plan =
      TestPlans
        .of(Nil, Nil, Nil, settings, KeyedLayout)
        .copy(placement = Some(Placement.Listed(windows)))
    val reader = new RowWindowReader(plan)
    val row = new GroupInput.Row
    Seq(
      listing(InternalRow(5L, 9L), InternalRow(1L, 2L), InternalRow(5L, 9L)) ->
        Seq(TimeWindow(5L, 9L), TimeWindow(1L, 2L)),
      listing() -> Nil).foreach { case (record, expected) =>
      assertEquals(reader.problem(record, isAdjusted = false), None)
      // The record lies inside the payload of an exchange row.
      row.value.set(new Array[Byte](8) ++ record.getBytes, 8, record.getSizeInBytes)
      reader.read(row)
      assertEquals(row.context.windows, expected)
    }
  }
}
