package transom.engine.keyed

import java.lang.management.ManagementFactory
import java.nio.ByteBuffer

import com.sun.management.ThreadMXBean
import munit.FunSuite

import transom.engine.keyed.keystate.MemoryKeyStore
import transom.engine.runtime.GroupInput

/** How much heap takes what no setting limits. The page on sizes names these figures. */
class HeapSuite extends FunSuite {
  private val threads = ManagementFactory.getThreadMXBean.asInstanceOf[ThreadMXBean]

  /** The bytes that `action` allocates for each of `count` values, which stay in memory. */
  private def allocated[T](count: Int)(action: Int => T): Long = {
    val kept = new Array[Any](count)
    val before = threads.getThreadAllocatedBytes(Thread.currentThread.getId)
    var i = 0
    while (i < count) {
      kept(i) = action(i)
      i += 1
    }
    (threads.getThreadAllocatedBytes(Thread.currentThread.getId) - before) / kept.length
  }

  test("a late row of a session that waits has 300 bytes besides its contents") {
    val chunk = new Array[Byte](1 << 16)
    val row = new GroupInput.Row
    row.key.set(chunk, 10, 8)
    row.value.set(chunk, 18, 40)
    row.input.set(chunk, 58, 100)
    val bytes = allocated(10000)(_ => row.copy()) - 148
    assert(bytes > 100 && bytes <= 300, bytes)
  }

  test("a key of a static key group has 250 bytes besides its contents") {
    val store = new MemoryKeyStore
    val bytes = allocated(100000) { i =>
      store.put(ByteBuffer.allocate(8).putInt(i).array, new Array[Byte](40))
    } - 48
    assertEquals(store.size, 100000)
    assert(bytes > 80 && bytes <= 250, bytes)
  }
}
