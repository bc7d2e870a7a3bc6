package org.apache.spark.sql.transom.function

import munit.FunSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.schema.{StateSchema, StateSchemas}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.state.UnknownStateVersion

/** The rows that `top` keeps in an accumulator are read with the schema of the run that wrote
  * them.
  */
class TopSuite extends FunSuite {
  private def top(ddl: String, stored: Option[StateSchemas]): Top = {
    val fields = StructType.fromDDL(ddl)
    val row = BoundReference(0, fields, nullable = false)
    val order = GetStructField(row, fields.fieldIndex("v"))
    Top(1, row, Seq(SortOrder(order, Descending)), stored)
  }

  private def schemas(current: Int, ddls: String*): Option[StateSchemas] =
    Some(
      StateSchemas(
        ddls.zipWithIndex.map { case (ddl, number) =>
          number -> StateSchema.of(Nil, Nil, Nil, _ => false, Seq(StructType.fromDDL(ddl)))
        }.toMap,
        current,
        isCaseSensitive = true,
        "UTC",
        "window",
        "transom/window.json"))

  private val before = top("v INT, a STRING", None)
  private def bytes: Array[Byte] = before.serialize(
    before.update(
      before.createAggregationBuffer(),
      InternalRow(InternalRow(7, UTF8String.fromString("x")))))

  test("rows of an earlier run are read by name") {
    val ddl = "b INT, a STRING, v INT"
    val after = top(ddl, schemas(1, "v INT, a STRING", ddl))
    val rows = after.eval(after.deserialize(bytes)).asInstanceOf[ArrayData]
    assertEquals(rows.numElements(), 1)
    val row = rows.getStruct(0, 4)
    assert(row.isNullAt(0))
    assertEquals((row.getString(1), row.getInt(2), row.getInt(3)), ("x", 7, 1))
    // An accumulator is written again with the schema of the run.
    val rewritten = after.serialize(after.deserialize(bytes))
    assertEquals(rewritten(4).toInt, 1)
    assertEquals(after.eval(after.deserialize(rewritten)), rows: Any)
  }

  test("an accumulator of another format is refused") {
    val other = bytes
    other(0) = 9
    assertEquals(intercept[UnknownStateVersion](before.deserialize(other)).version, 9)
  }

  test("an accumulator with a schema that the checkpoint does not have is refused") {
    val after = top("v INT, a STRING", schemas(0, "v INT, a STRING"))
    val other = bytes
    other(4) = 5
    val error = intercept[TransomException](after.deserialize(other))
    assertEquals(error.getCondition, "TRANSOM_SPEC_DAMAGED")
    assert(error.getMessage.contains("lacks the schema 5"), error.getMessage)
  }
}
