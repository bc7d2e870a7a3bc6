package org.apache.spark.sql.transom.function

import java.util.Locale

import munit.ScalaCheckSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

class DistinctAggregateSuite extends ScalaCheckSuite {
  private val texts = Gen.listOf(Gen.option(Gen.oneOf("a", "A", "b", "B", "", "w" * 300)))

  private def count(collation: String): DistinctAggregate =
    DistinctAggregate(Count(Seq(BoundReference(0, StringType(collation), nullable = true))))

  private def update(aggregate: DistinctAggregate, texts: Seq[Option[String]]) =
    texts.foldLeft(aggregate.createAggregationBuffer()) { (set, text) =>
      aggregate.update(set, InternalRow(text.map(UTF8String.fromString).orNull))
    }

  // "a" and "A" are equal under the second collation.
  Seq[(String, String => String)](
    "UTF8_BINARY" -> identity,
    "UTF8_LCASE" -> (_.toLowerCase(Locale.ROOT)))
    .foreach { case (collation, identityOf) =>
      val aggregate = count(collation)

      property(s"$collation: merged and stored sets hold each value once") {
        forAll(texts, texts) { (some, others) =>
          def stored(texts: Seq[Option[String]]) =
            aggregate.deserialize(aggregate.serialize(update(aggregate, texts)))
          val expected = (some ++ others).flatten.map(identityOf).distinct.length.toLong
          assertEquals(aggregate.eval(aggregate.merge(stored(some), stored(others))), expected)
        }
      }
    }

  test("the function receives the inputs, not their identities") {
    val aggregate =
      DistinctAggregate(new CollectList(BoundReference(0, StringType("UTF8_LCASE"), true)))
    val set = update(aggregate, Seq(Some("A"), Some("a"), None))
    val stored = aggregate.deserialize(aggregate.serialize(set))
    val result = aggregate.eval(stored) match {
      case list: ArrayData =>
        list.toSeq[UTF8String](StringType)
      case other => fail(s"$other is not a list")
    }
    assertEquals(result.map(_.toString), Seq("A"))
  }

  test("a constant argument is not part of the set") {
    val value = BoundReference(0, LongType, nullable = true)
    val aggregate = DistinctAggregate(new Percentile(value, Literal(0.5)))
    val set = Seq(1L, 9L, 9L, 9L, 5L).foldLeft(aggregate.createAggregationBuffer())((set, n) =>
      aggregate.update(set, InternalRow(n)))
    assertEquals(set.size, 3)
    // The median of 1, 5 and 9.
    assertEquals(aggregate.eval(aggregate.deserialize(aggregate.serialize(set))), 5.0)
  }
}
