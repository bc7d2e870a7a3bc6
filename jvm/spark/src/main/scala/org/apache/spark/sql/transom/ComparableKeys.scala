package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.types._

/** Values by which rows are grouped, as Spark's planner would have them. */
object ComparableKeys {

  /** An expression equal where Spark's grouping finds the key equal, and then equal in its bytes.
    */
  def of(key: Expression): Expression =
    CollationKey.injectCollationKey(normal(key))

  /** One of the values that are equal to Spark, but for strings that are equal by their
    * collation.
    */
  def normal(e: Expression): Expression = e match {
    case order: SortOrder => order.mapChildren(normal)
    case _ => NormalizeFloatingNumbers.normalize(mapsSorted(e))
  }

  /** The entries of maps, at any depth, in order of their keys. */
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
