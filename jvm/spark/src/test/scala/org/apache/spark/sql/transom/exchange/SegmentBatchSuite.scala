package org.apache.spark.sql.transom.exchange

import munit.FunSuite

class SegmentBatchSuite extends FunSuite {
  private val segments =
    Seq((3L, Array[Byte](1, 2, 3)), (-8L, Array.emptyByteArray), (Long.MaxValue, Array[Byte](4)))

  private def read(batch: Array[Byte]): Seq[(Long, Seq[Byte])] =
    SegmentBatch.read(batch).map { case (slice, segment) => (slice, segment.toSeq) }.toSeq

  test("segments come out with their slices, in the order in which they were put in") {
    val batch = new SegmentBatch(fullSize = 1 << 20)
    segments.foreach { case (slice, segment) => batch.add(slice, segment) }
    assertEquals(read(batch.take()), segments.map { case (slice, bytes) => (slice, bytes.toSeq) })
  }

  test("a batch that was taken begins anew") {
    val batch = new SegmentBatch(fullSize = 1 << 20)
    batch.add(1L, new Array[Byte](1 << 20))
    assert(batch.isFull)
    assertEquals(read(batch.take()).map(_._2.length), Seq(1 << 20))
    assert(batch.isEmpty && !batch.isFull)
    assertEquals(read(batch.take()), Seq.empty)
  }
}
