package transom.engine.log

import munit.FunSuite

class BundledStoreSuite extends FunSuite {
  private def bytes(size: Int, value: Int): Array[Byte] = Array.fill(size)(value.toByte)

  private def segments(panes: Range, size: Int): Seq[(SegmentKey, Array[Byte])] =
    panes.map(pane => SegmentKey(pane.toLong, 0) -> bytes(size, pane))

  /** A store with what was put, as the next visit finds it. */
  private def visited(behind: Store, put: Seq[(SegmentKey, Array[Byte])]): BundledStore = {
    val store = new BundledStore(behind, targetSize = 100)
    store.putAll(put)
    store.saveDirectory(bytes(3, 7))
    new BundledStore(behind, targetSize = 100)
  }

  test("small segments share entries, and each is read as it was put") {
    val behind = new MemoryStore
    val store = visited(behind, segments(0 until 10, size = 20))
    assertEquals(behind.size, 2)
    assertEquals(store.directory.toSeq, bytes(3, 7).toSeq)
    (0 until 10).foreach { pane =>
      assertEquals(store.get(pane.toLong, 0).toSeq, bytes(20, pane).toSeq)
    }
  }

  test("segments that are large, or alone, have entries of their own") {
    val behind = new MemoryStore
    val put = segments(0 until 2, size = 26) ++ segments(2 until 3, size = 5)
    val store = visited(behind, put)
    assertEquals(behind.size, 3)
    put.foreach { case (SegmentKey(pane, sequence), segment) =>
      assertEquals(behind.get(pane, sequence).toSeq, segment.toSeq)
      assertEquals(store.get(pane, sequence).toSeq, segment.toSeq)
      store.remove(pane, sequence)
    }
    assertEquals(behind.size, 0)
  }

  test("a bundle goes with the last of its segments, removed in whichever visit") {
    val behind = new MemoryStore
    val first = visited(behind, segments(0 until 4, size = 20))
    first.remove(1, 0)
    first.remove(2, 0)
    first.saveDirectory(bytes(3, 7))
    val second = new BundledStore(behind, targetSize = 100)
    assertEquals(second.get(3, 0).toSeq, bytes(20, 3).toSeq)
    second.remove(0, 0)
    assertEquals(behind.size, 1)
    second.remove(3, 0)
    assertEquals(behind.size, 0)
  }

  test("a bundle is read once a visit, for all of its segments") {
    val counting = new CountingStore(new MemoryStore)
    val store = visited(counting, segments(0 until 5, size = 20))
    (0 until 5).reverse.foreach(pane => store.get(pane.toLong, 0))
    assertEquals(counting.reads, 1)
  }

  test("a number is used again only when its bundle is gone") {
    val behind = new MemoryStore
    val store = visited(behind, segments(0 until 5, size = 20))
    store.putAll(segments(10 until 15, size = 20))
    (0 until 5).foreach(pane => store.remove(pane.toLong, 0))
    store.putAll(segments(20 until 25, size = 20))
    assertEquals(behind.size, 2)
    ((10 until 15) ++ (20 until 25)).foreach { pane =>
      assertEquals(store.get(pane.toLong, 0).toSeq, bytes(20, pane).toSeq)
    }
  }

  test("a directory of another format is refused") {
    val behind = new MemoryStore
    behind.saveDirectory(Array[Byte](2, 0, 0, 0, 0))
    val error = intercept[UnknownSegmentVersion](new BundledStore(behind))
    assert(error.getMessage.contains("format 2, this version reads 3"), error.getMessage)
  }
}
