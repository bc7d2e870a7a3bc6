package transom.engine.state

import munit.FunSuite

/** Segments and directories of another format are refused. */
class StoredSegmentsSuite extends FunSuite {
  private val range = new ByteRange
  range.set(new Array[Byte](8), 0, 8)

  private def segment: Array[Byte] = {
    val writer = new SegmentWriter
    writer.append(1L, range, range)
    writer.take()
  }

  private def refused(read: => Any): Unit =
    intercept[UnknownSegmentVersion](read: Unit): Unit

  test("a segment") {
    val bytes = segment
    assert(new Cursor(Iterator.single(bytes)).advance())
    bytes(0) = 99
    refused(new Cursor(Iterator.single(bytes)).advance())
  }

  test("a directory") {
    val store = new MemoryStore
    val slices = new SliceDirectory(store)
    slices.append(slices.open(0L), segment)
    slices.save()
    assert(!new SliceDirectory(store).isEmpty)
    store.directory(0) = 99
    refused(new SliceDirectory(store))
  }

  test("the positions of bundled segments") {
    val store = new MemoryStore
    val bundled = new BundledStore(store, 1 << 16)
    bundled.putAll((0 until 3).map(i => SegmentKey(i.toLong, 0) -> segment))
    bundled.saveDirectory(Array[Byte](1))
    assertEquals(new BundledStore(store, 1 << 16).get(2L, 0).toSeq, segment.toSeq)
    store.directory(0) = 99
    refused(new BundledStore(store, 1 << 16).directory)
  }
}
