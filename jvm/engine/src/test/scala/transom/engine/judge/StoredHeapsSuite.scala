package transom.engine.judge

import munit.FunSuite

import transom.engine.state.{MemoryState, UnknownStateVersion}

class StoredHeapsSuite extends FunSuite {
  test("the timers of a substream of another format are refused") {
    val store = new MemoryState().map("timers")
    val substream = Array[Byte](1)
    val heaps = new TimerHeaps(store)
    heaps.add(substream, 5L, Array[Byte](2))
    heaps.save()
    assert(new TimerHeaps(store).isWaiting(substream, 4L))
    store.entries.map(_._2).find(_.length == 5).get(0) = 99
    val error =
      intercept[UnknownStateVersion](new TimerHeaps(store).isWaiting(substream, 4L): Unit)
    assertEquals(error.version, 99)
  }
}
