package org.apache.spark.sql.transom.schema

import munit.FunSuite
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.types._

/** Rows of one schema are read as rows of another, by name. */
class StateSchemaSuite extends FunSuite {
  private def schema(ddl: String): StructType = StructType.fromDDL(ddl)

  private def read(
      from: String,
      to: String,
      isCaseSensitive: Boolean = true)(values: Any*): Row = {
    val (before, after) = (schema(from), schema(to))
    val row = CatalystTypeConverters.convertToCatalyst(Row(values: _*)).asInstanceOf[InternalRow]
    val reader = new RowReader(before, after, isCaseSensitive, "UTC")
    CatalystTypeConverters.createToScalaConverter(after)(reader(row)).asInstanceOf[Row]
  }

  private def mismatch(
      from: String,
      to: String,
      isCaseSensitive: Boolean = true): (String, Option[String], Option[String]) = {
    val found =
      intercept[SchemaMismatch](new RowReader(schema(from), schema(to), isCaseSensitive, "UTC"))
    def shown(field: Option[StructField]) = field.map(_.dataType.sql)
    (found.path.mkString("."), shown(found.before), shown(found.after))
  }

  test("columns are found by name, new ones are null, and others are dropped") {
    val found = read("a INT, b STRING, c DOUBLE", "c DOUBLE, d INT, a INT")(1, "x", 2.5)
    assertEquals(found, Row(2.5, null, 1))
  }

  test("a value is cast to a wider type") {
    assertEquals(read("a INT", "a BIGINT")(7), Row(7L))
    assertEquals(read("a BIGINT", "a STRING")(7L), Row("7"))
    assertEquals(read("a INT", "a DECIMAL(12, 2)")(7), Row(new java.math.BigDecimal("7.00")))
    assertEquals(
      read("a DATE", "a TIMESTAMP")(java.sql.Date.valueOf("2024-01-02"))
        .getTimestamp(0)
        .toInstant,
      java.time.Instant.parse("2024-01-02T00:00:00Z"))
  }

  test("fields are found by name in structs, arrays and maps") {
    assertEquals(
      read("a STRUCT<x: INT, y: STRING>", "a STRUCT<y: STRING, z: INT, x: BIGINT>")(Row(1, "y")),
      Row(Row("y", null, 1L)))
    assertEquals(
      read("a ARRAY<STRUCT<x: INT>>", "a ARRAY<STRUCT<y: INT, x: BIGINT>>")(
        Seq(Row(1), null, Row(3))),
      Row(Seq(Row(null, 1L), null, Row(null, 3L))))
    assertEquals(
      read("a MAP<STRING, INT>", "a MAP<STRING, STRING>")(
        Map[String, Any]("k" -> 1, "n" -> null)),
      Row(Map("k" -> "1", "n" -> null)))
    assertEquals(read("a STRUCT<x: INT>", "a STRUCT<x: BIGINT>")(null), Row(null))
  }

  test("a column that cannot be read is named with its path") {
    assertEquals(mismatch("a STRING", "a INT"), ("a", Some("STRING"), Some("INT")))
    assertEquals(mismatch("a BIGINT", "a INT"), ("a", Some("BIGINT"), Some("INT")))
    assertEquals(
      mismatch("a STRUCT<x: ARRAY<STRING>>", "a STRUCT<x: ARRAY<INT>>"),
      ("a.x.element", Some("STRING"), Some("INT")))
    assertEquals(mismatch("a MAP<STRING, BIGINT>", "a MAP<STRING, INT>")._1, "a.value")
    assertEquals(mismatch("a MAP<INT, INT>", "a MAP<BIGINT, INT>")._1, "a")
    assertEquals(mismatch("a STRUCT<x: INT>", "a STRING")._1, "a")
  }

  test("a column must not lose its nulls") {
    assertEquals(mismatch("a INT", "a INT NOT NULL")._1, "a")
    assertEquals(mismatch("a INT", "a INT, b INT NOT NULL"), ("b", None, Some("INT")))
    assertEquals(mismatch("a STRUCT<x: INT>", "a STRUCT<x: INT NOT NULL>")._1, "a.x")
    assertEquals(read("a INT NOT NULL", "a INT")(7), Row(7))
  }

  test("names are compared as the session compares them") {
    assertEquals(read("a INT", "A INT", isCaseSensitive = false)(7), Row(7))
    assertEquals(read("a INT", "A INT")(7), Row(null))
    assertEquals(
      read("a INT, A STRING", "A STRING, a INT", isCaseSensitive = false)(7, "x"),
      Row("x", 7))
    assertEquals(mismatch("aa INT, aA INT", "AA INT", isCaseSensitive = false)._1, "AA")
  }

  test("two columns with the same name allow no change") {
    val twice = StructType(Seq(StructField("a", IntegerType), StructField("a", LongType)))
    val once = schema("a BIGINT")
    Seq(twice -> once, once -> twice).foreach { case (from, to) =>
      val found =
        intercept[SchemaMismatch](new RowReader(from, to, isCaseSensitive = true, "UTC"))
      assertEquals(found.path, Seq("a"))
    }
  }

  test("keys and accumulators keep their types") {
    def keyed(ddl: String, nullable: Boolean) = {
      val key = AttributeReference("k", schema(ddl), nullable)()
      StateSchema.of(Seq(key), Nil, Nil, _ => false, Nil)
    }
    val before = keyed("x INT", nullable = true)
    def problem(after: StateSchema) =
      before.problem(after, isCaseSensitive = true).map(_.path.mkString("."))
    assertEquals(problem(keyed("x INT", nullable = true)), None)
    assertEquals(problem(keyed("x BIGINT", nullable = true)), Some("k.x"))
    assertEquals(problem(keyed("y INT", nullable = true)), Some("k"))
    assertEquals(problem(keyed("x INT", nullable = false)), Some("k"))
  }

  test("a schema is the same after it was written as JSON") {
    val columns = StructType
      .fromDDL("a INT NOT NULL, b ARRAY<STRUCT<x: DECIMAL(5, 1)>>, c MAP<STRING, DATE>")
      .map(f => AttributeReference(f.name, f.dataType, f.nullable)())
    val tops = Seq(schema("t INT"), schema("u STRING, t INT"))
    val written = StateSchema.of(columns, columns, columns, _.name == "a", tops)
    assertEquals(StateSchema.of(DataType.fromJson(written.asType.json)), written)
    assertEquals(written.rows.fieldNames.toSeq, Seq("__transom_0", "b", "c"))
  }
}
