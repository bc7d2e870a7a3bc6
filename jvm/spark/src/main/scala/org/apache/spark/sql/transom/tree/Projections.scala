package org.apache.spark.sql.transom.tree

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, MutableProjection}
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateMutableProjection

/** Functions for the constructors of Spark. A function that is written in the call of such a
  * constructor is a class in the jar.
  */
object Projections {
  val mutable: (Seq[Expression], Seq[Attribute]) => MutableProjection =
    (expressions, input) => GenerateMutableProjection.generate(expressions, input)
}
