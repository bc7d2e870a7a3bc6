package org.apache.spark.sql.transom

import munit.FunSuite

class ParcelSuite extends FunSuite {
  private val segments =
    Seq((3L, Array[Byte](1, 2, 3)), (-8L, Array.emptyByteArray), (Long.MaxValue, Array[Byte](4)))

  private def read(parcel: Array[Byte]): Seq[(Long, Seq[Byte])] =
    Parcel.read(parcel).map { case (slice, segment) => (slice, segment.toSeq) }.toSeq

  test("segments come out with their slices, in the order in which they were put in") {
    val parcel = new Parcel
    segments.foreach { case (slice, segment) => parcel.add(slice, segment) }
    assertEquals(
      read(parcel.take()),
      segments.map { case (slice, bytes) => (slice, bytes.toSeq) })
  }

  test("a parcel that was taken begins anew") {
    val parcel = new Parcel
    parcel.add(1L, new Array[Byte](1 << 20))
    assert(parcel.isFull)
    assertEquals(read(parcel.take()).map(_._2.length), Seq(1 << 20))
    assert(parcel.isEmpty && !parcel.isFull)
    assertEquals(read(parcel.take()), Seq.empty)
  }
}
