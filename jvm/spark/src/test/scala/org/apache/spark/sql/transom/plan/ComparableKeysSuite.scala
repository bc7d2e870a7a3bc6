package org.apache.spark.sql.transom.plan

import java.lang.{Double => JavaDouble}

import munit.FunSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class ComparableKeysSuite extends FunSuite {

  private def key(dataType: DataType): Expression =
    ComparableKeys.of(BoundReference(0, dataType, nullable = true))

  private def bytesOf(dataType: DataType, value: Any): Seq[Byte] =
    UnsafeProjection.create(Seq(key(dataType))).apply(InternalRow(value)).getBytes.toSeq

  private def array(values: Any*): ArrayData = new GenericArrayData(values.toArray[Any])

  private def map(entries: (Any, Any)*): ArrayBasedMapData =
    new ArrayBasedMapData(array(entries.map(_._1): _*), array(entries.map(_._2): _*))

  private val text = UTF8String.fromString _
  private val folded = StringType("UTF8_LCASE")
  private val numbers = MapType(LongType, DoubleType)
  private val otherNaN = JavaDouble.longBitsToDouble(0x7ff8000000000001L)

  /** A type, two equal keys, and a key that differs from them. */
  private val cases: Seq[(String, DataType, Any, Any, Any)] = Seq(
    ("zeros", DoubleType, 0.0, -0.0, 1.0),
    ("zeros of single precision", FloatType, 0.0f, -0.0f, 1.0f),
    ("values that are not a number", DoubleType, Double.NaN, otherNaN, 0.0),
    (
      "zeros in an array",
      ArrayType(DoubleType),
      array(0.0, 2.0),
      array(-0.0, 2.0),
      array(2.0, 0.0)),
    (
      "zeros in a struct",
      new StructType().add("x", DoubleType),
      InternalRow(0.0),
      InternalRow(-0.0),
      InternalRow(null)),
    (
      "maps whose entries have another order",
      numbers,
      map(1L -> 1.0, 2L -> 2.0),
      map(2L -> 2.0, 1L -> 1.0),
      map(1L -> 2.0, 2L -> 1.0)),
    (
      "maps in an array",
      ArrayType(numbers),
      array(map(1L -> 1.0, 2L -> 2.0)),
      array(map(2L -> 2.0, 1L -> 1.0)),
      array(map(1L -> 1.0))),
    (
      "maps in a map in a struct",
      new StructType().add("m", MapType(LongType, numbers)),
      InternalRow(map(5L -> map(1L -> 1.0, 2L -> 2.0), 4L -> map())),
      InternalRow(map(4L -> map(), 5L -> map(2L -> 2.0, 1L -> 1.0))),
      InternalRow(map(4L -> map(), 5L -> map(2L -> 1.0, 1L -> 1.0)))),
    ("strings that differ in case", folded, text("Key"), text("kEY"), text("keys")))

  cases.foreach { case (name, dataType, key, equal, other) =>
    test(s"equal keys have equal bytes: $name") {
      assertEquals(bytesOf(dataType, equal), bytesOf(dataType, key))
      assertNotEquals(bytesOf(dataType, other), bytesOf(dataType, key))
      assertNotEquals(bytesOf(dataType, null), bytesOf(dataType, key))
    }
  }

  test("a normalized value keeps its type, also that of a collated string") {
    Seq(DoubleType, folded, numbers, ArrayType(numbers), new StructType().add("m", numbers))
      .foreach { dataType =>
        val value = BoundReference(0, dataType, nullable = true)
        assert(DataType.equalsIgnoreNullability(ComparableKeys.normal(value).dataType, dataType))
      }
    assert(!key(folded).dataType.isInstanceOf[StringType])
  }

  test("a key without floating numbers, maps and collations is unchanged") {
    Seq(LongType, StringType, TimestampType, ArrayType(LongType)).foreach { dataType =>
      val plain = BoundReference(0, dataType, nullable = true)
      assertEquals(ComparableKeys.of(plain), plain: Expression)
    }
  }
}
