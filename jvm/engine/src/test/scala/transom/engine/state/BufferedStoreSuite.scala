package transom.engine.state

import munit.FunSuite

class BufferedStoreSuite extends FunSuite {
  private def bytes(size: Int): Array[Byte] = Array.fill(size)(size.toByte)

  test("a segment that is removed before a flush never reaches the underlying store") {
    val underlying = new MemoryStore
    val store = new BufferedStore(underlying, 1000L)
    store.put(10L, 0, bytes(1))
    store.put(10L, 1, bytes(2))
    store.remove(10L, 0)
    assertEquals(store.get(10L, 1).toSeq, bytes(2).toSeq)
    assertEquals(underlying.size, 0)
    store.flush()
    assertEquals(underlying.size, 1)
    assertEquals(underlying.get(10L, 1).toSeq, bytes(2).toSeq)
  }

  test("segments of the underlying store can be read and removed") {
    val underlying = new MemoryStore
    underlying.put(10L, 0, bytes(3))
    val store = new BufferedStore(underlying, 1000L)
    assertEquals(store.get(10L, 0).toSeq, bytes(3).toSeq)
    store.remove(10L, 0)
    assertEquals(underlying.size, 0)
  }

  test("segments beyond the limit are written at once, and a removal frees space") {
    val underlying = new MemoryStore
    val store = new BufferedStore(underlying, maxHeld = 100L)
    store.put(10L, 0, bytes(60))
    store.put(10L, 1, bytes(60))
    assertEquals(underlying.size, 1)
    assertEquals(store.get(10L, 1).length, 60)
    store.remove(10L, 0)
    store.put(10L, 2, bytes(60))
    assertEquals(underlying.size, 1)
    store.flush()
    assertEquals(underlying.size, 2)
  }
}
