package transom.engine.state

import munit.FunSuite

class BundledStoreSuite extends FunSuite {
  private def bytes(size: Int, value: Int): Array[Byte] = Array.fill(size)(value.toByte)

  private def segments(slices: Range, size: Int): Seq[(SegmentKey, Array[Byte])] =
    slices.map(slice => SegmentKey(slice.toLong, 0) -> bytes(size, slice))

  /** Writes entries to a store and opens the store again. */
  private def reopened(
      underlying: SegmentStore,
      put: Seq[(SegmentKey, Array[Byte])]): BundledStore = {
    val store = new BundledStore(underlying, targetSize = 100)
    store.putAll(put)
    store.saveDirectory(bytes(3, 7))
    new BundledStore(underlying, targetSize = 100)
  }

  test("small segments share entries and are read unchanged") {
    val underlying = new MemoryStore
    val store = reopened(underlying, segments(0 until 10, size = 20))
    assertEquals(underlying.size, 2)
    assertEquals(store.directory.toSeq, bytes(3, 7).toSeq)
    (0 until 10).foreach { slice =>
      assertEquals(store.get(slice.toLong, 0).toSeq, bytes(20, slice).toSeq)
    }
  }

  test("segments that are large, or alone, have entries of their own") {
    val underlying = new MemoryStore
    val put = segments(0 until 2, size = 26) ++ segments(2 until 3, size = 5)
    val store = reopened(underlying, put)
    assertEquals(underlying.size, 3)
    put.foreach { case (SegmentKey(slice, sequence), segment) =>
      assertEquals(underlying.get(slice, sequence).toSeq, segment.toSeq)
      assertEquals(store.get(slice, sequence).toSeq, segment.toSeq)
      store.remove(slice, sequence)
    }
    assertEquals(underlying.size, 0)
  }

  test("a bundle is removed with its last segment, even if the store was reopened") {
    val underlying = new MemoryStore
    val first = reopened(underlying, segments(0 until 4, size = 20))
    first.remove(1, 0)
    first.remove(2, 0)
    first.saveDirectory(bytes(3, 7))
    val second = new BundledStore(underlying, targetSize = 100)
    assertEquals(second.get(3, 0).toSeq, bytes(20, 3).toSeq)
    second.remove(0, 0)
    assertEquals(underlying.size, 1)
    second.remove(3, 0)
    assertEquals(underlying.size, 0)
  }

  test("a bundle is read once for all of its segments") {
    val counting = new CountingStore(new MemoryStore)
    val store = reopened(counting, segments(0 until 5, size = 20))
    (0 until 5).reverse.foreach(slice => store.get(slice.toLong, 0))
    assertEquals(counting.reads, 1)
  }

  test("the id of a bundle is not reused while the bundle exists") {
    val underlying = new MemoryStore
    val store = reopened(underlying, segments(0 until 5, size = 20))
    store.putAll(segments(10 until 15, size = 20))
    (0 until 5).foreach(slice => store.remove(slice.toLong, 0))
    store.putAll(segments(20 until 25, size = 20))
    assertEquals(underlying.size, 2)
    ((10 until 15) ++ (20 until 25)).foreach { slice =>
      assertEquals(store.get(slice.toLong, 0).toSeq, bytes(20, slice).toSeq)
    }
  }

  test("a directory of another format is rejected") {
    val underlying = new MemoryStore
    underlying.saveDirectory(Array[Byte](2, 0, 0, 0, 0))
    val error = intercept[UnknownSegmentVersion](new BundledStore(underlying, 1000))
    assert(error.getMessage.contains("format 2, this version reads 4"), error.getMessage)
  }
}
