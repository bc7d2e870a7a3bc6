package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.types._

/** Normalizes grouping keys so that equal keys have equal bytes, as Spark's planner does. */
object ComparableKeys {

  /** An expression with equal bytes for all keys that Spark's grouping considers equal. */
  def of(key: Expression): Expression =
    CollationKey.injectCollationKey(normal(key))

  /** Normalizes a value: values that Spark considers equal get equal bytes, and keep their type.
    *
    * Strings that only their collation makes equal keep different bytes.
    */
  def normal(e: Expression): Expression = e match {
    case order: SortOrder => order.mapChildren(normal)
    case _ => NormalizeFloatingNumbers.normalize(mapsSorted(e))
  }

  /** Sorts the entries of maps by key, at any depth. */
  private def mapsSorted(e: Expression): Expression = e.dataType match {
    case plain if !plain.existsRecursively(_.isInstanceOf[MapType]) => e
    case map: MapType =>
      val hasMaps = map.valueType.existsRecursively(_.isInstanceOf[MapType])
      MapSort(if (hasMaps) MapFromArrays(MapKeys(e), mapsSorted(MapValues(e))) else e)
    case StructType(fields) =>
      val sorted = CreateNamedStruct(fields.toSeq.zipWithIndex.flatMap { case (field, i) =>
        Seq(Literal(field.name), mapsSorted(GetStructField(e, i, Some(field.name))))
      })
      If(IsNull(e), Literal(null, sorted.dataType), sorted)
    case ArrayType(element, containsNull) =>
      val each = NamedLambdaVariable("element", element, containsNull)
      ArrayTransform(e, LambdaFunction(mapsSorted(each), Seq(each)))
    case _ => e
  }
}
