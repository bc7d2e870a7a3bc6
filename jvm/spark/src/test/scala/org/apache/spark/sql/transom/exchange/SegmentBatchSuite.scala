package org.apache.spark.sql.transom.exchange

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

class SegmentBatchSuite extends ScalaCheckSuite {
  private val segments: Gen[List[(Long, Array[Byte])]] = Gen.listOf(
    Gen.zip(
      Gen.oneOf(Gen.long, Gen.oneOf(Long.MinValue, Long.MaxValue)),
      Gen.oneOf(0, 1, 24, 5000).map(size => Array.tabulate(size)(_.toByte))))

  private def read(batch: Array[Byte]): Seq[(Long, Seq[Byte])] =
    SegmentBatch.read(batch).map { case (slice, segment) => (slice, segment.toSeq) }.toSeq

  property("a reader returns the segments and their slices in the order of adding") {
    forAll(segments) { segments =>
      val batch = new SegmentBatch(fullSize = 1 << 20)
      segments.foreach { case (slice, segment) => batch.add(slice, segment) }
      assertEquals(batch.isEmpty, segments.isEmpty)
      assertEquals(
        read(batch.take()),
        segments.map { case (slice, bytes) => (slice, bytes.toSeq) })
    }
  }

  test("take empties a batch") {
    val batch = new SegmentBatch(fullSize = 1 << 20)
    batch.add(1L, new Array[Byte](1 << 20))
    assert(batch.isFull)
    assertEquals(read(batch.take()).map(_._2.length), Seq(1 << 20))
    assert(batch.isEmpty && !batch.isFull)
    assertEquals(read(batch.take()), Seq.empty)
  }
}
