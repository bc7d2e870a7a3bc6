package transom.engine.state

import munit.FunSuite

/** The size of the directory, which a task reads and writes as a whole for each key group of a
  * batch. The page on sizing names these numbers.
  */
class SliceDirectorySuite extends FunSuite {
  private val Second = 1000000L

  private def directoryOf(slices: Int, runs: Int): Int = {
    val store = new MemoryStore
    val directory = new SliceDirectory(store)
    (0 until slices).foreach { i =>
      val slice = directory.open(i * Second)
      (0 until runs).foreach(_ => directory.append(slice, new Array[Byte](100)))
    }
    directory.save()
    store.directory.length
  }

  test("a slice takes 13 bytes of the directory, and a run takes 20") {
    assertEquals(directoryOf(slices = 100, runs = 2) - directoryOf(slices = 100, runs = 1), 2000)
    assertEquals(directoryOf(slices = 101, runs = 1) - directoryOf(slices = 100, runs = 1), 33)
  }

  test("the directory of a day of windows every second has less than 3 MB") {
    assertEquals(directoryOf(slices = 86400, runs = 1), 13 + 33 * 86400)
  }
}
