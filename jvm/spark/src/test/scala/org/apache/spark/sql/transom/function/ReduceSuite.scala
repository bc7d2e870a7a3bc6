package org.apache.spark.sql.transom.function

import munit.FunSuite
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

class ReduceSuite extends FunSuite {
  private val child = AttributeReference("value", LongType)()
  private val one = NamedLambdaVariable("x", LongType, nullable = true)
  private val other = NamedLambdaVariable("y", LongType, nullable = true)

  private def reduce(body: Expression): Reduce =
    Reduce(child, LambdaFunction(body, Seq(one, other)))

  private def merged(a: Option[Long], b: Option[Long]): Any = {
    val function = reduce(Subtract(one, Multiply(other, Literal(10L))))
    val held = function.aggBufferAttributes.head
    function.updateExpressions.head
      .transform {
        case a2: Attribute if a2.exprId == held.exprId => Literal.create(a.orNull, LongType)
        case b2: Attribute if b2.exprId == child.exprId => Literal.create(b.orNull, LongType)
      }
      .eval()
  }

  test("the first variable is the held value, the second one the new value") {
    assertEquals(merged(Some(1L), Some(2L)), 1L - 20L: Any)
  }

  test("a null value is skipped") {
    assertEquals(merged(Some(1L), None), 1L: Any)
    assertEquals(merged(None, Some(2L)), 2L: Any)
    assertEquals(merged(None, None), null)
  }

  test("the function must return the type that it merges") {
    assertEquals(reduce(Add(one, other)).problem, None)
    val text = reduce(Cast(Add(one, other), StringType)).problem
    assert(text.exists(_.contains("BIGINT into a value of type STRING")), text)
  }

  test("the function reads only the two values") {
    val extra = AttributeReference("weight", LongType)()
    val text = reduce(Add(one, Multiply(other, extra))).problem
    assert(text.exists(_.contains("reads weight next to the two values")), text)
  }
}
