package org.apache.spark.sql.transom.planned

import munit.FunSuite

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.WindowResultRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class OutputSchemaSuite extends FunSuite {
  private def column(name: String, dataType: DataType = LongType): Attribute =
    AttributeReference(name, dataType)()

  private val keys = Seq(column("region", StringType), column("user"))
  private val start = column("start", TimestampType)
  private val end = column("end", TimestampType)
  private val results = Seq(column("n"), column("mean", DoubleType), column("best", StringType))
  private val plain = new OutputColumns(keys, start, end, results)

  private def named(columns: OutputColumns)(ordinal: Int): String =
    (columns.ofWindow ++ columns.ofSideOutputs)(ordinal).name

  test("keys come first, then the bounds and the results of a window") {
    val schema = plain.schema
    assertEquals(schema.keys.toList, List(0, 1))
    assertEquals((schema.start, schema.end), (2, 3))
    assertEquals(schema.results.toList, List(4, 5, 6))
    assertEquals(
      schema.types,
      Seq(StringType, LongType, TimestampType, TimestampType, LongType, DoubleType, StringType))
    assertEquals(schema.optionalWidth, 0)
  }

  test("a column that the operator does not emit has no ordinal") {
    val schema = plain.schema
    val optional = Seq(
      schema.pane,
      schema.change,
      schema.watermark,
      schema.isLast,
      schema.row,
      schema.windowGone,
      schema.late,
      schema.deadLetter)
    assertEquals(optional.flatten, Nil)
  }

  test("each optional column is found by its ordinal, whatever other columns there are") {
    val optional =
      Seq("pane", "change", "watermark", "isLast", "row", "windowGone", "late", "dead")
    optional.toSet.subsets().foreach { emitted =>
      def some(name: String): Option[Attribute] = Option.when(emitted(name))(column(name))
      val columns = new OutputColumns(
        keys,
        start,
        end,
        results,
        pane = some("pane"),
        change = some("change"),
        watermark = some("watermark"),
        isLast = some("isLast"),
        row = some("row"),
        windowGone = some("windowGone"),
        late = some("late"),
        deadLetter = some("dead"))
      val schema = columns.schema
      val ordinals = Seq(
        "pane" -> schema.pane,
        "change" -> schema.change,
        "watermark" -> schema.watermark,
        "isLast" -> schema.isLast,
        "row" -> schema.row,
        "windowGone" -> schema.windowGone,
        "late" -> schema.late,
        "dead" -> schema.deadLetter)
      ordinals.foreach { case (name, ordinal) =>
        assertEquals(ordinal.map(named(columns)), Option.when(emitted(name))(name))
      }
      assertEquals(schema.width, 7 + emitted.size)
      val positions = ordinals.flatMap(_._2.map(schema.amongOptional)).sorted
      assertEquals(positions, Seq.range(0, emitted.size))
    }
  }

  test("an operator without keys and results emits the bounds alone") {
    val schema = new OutputColumns(Nil, start, end, Nil).schema
    assertEquals((schema.start, schema.end), (0, 1))
    assert(schema.keys.isEmpty && schema.results.isEmpty)
    assertEquals(schema.width, 2)
  }

  test("a result row holds keys, bounds, results and the watermark, and null elsewhere") {
    val schema = new OutputColumns(
      keys,
      start,
      end,
      results,
      watermark = Some(column("watermark")),
      deadLetter = Some(column("dead_letters"))).schema
    val keyRow =
      UnsafeProjection.create(Array[DataType](StringType, LongType))(
        InternalRow(UTF8String.fromString("north"), 7L))
    val resultRow = new SpecificInternalRow(Seq(LongType, DoubleType, StringType))
    resultRow.update(0, 3L)
    resultRow.update(1, 0.5)
    val row = new WindowResultRow(schema, keyRow, resultRow)
    row.start = 10L
    row.end = 20L
    row.watermark = 25L
    val expected =
      Seq[Any](UTF8String.fromString("north"), 7L, 10L, 20L, 3L, 0.5, null, 25L, null)
    assertEquals(row.toSeq(schema.types), expected)
    assertEquals(row.numFields, expected.length)
  }
}
