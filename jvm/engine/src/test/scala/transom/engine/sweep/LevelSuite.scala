package transom.engine.sweep

import munit.FunSuite

import transom.engine.conformance.driver.EntriesInMemory
import transom.engine.state.{ByteRange, StateReader, StateWriter}

/** Accumulators of all lengths in a level of the tree over open rows. */
class LevelSuite extends FunSuite {
  // Short, equal, longer, empty and large accumulators, and more of them than a level starts with.
  private val lengths = Seq(8, 8, 16, 0, 200, 8, 64) ++ Seq.fill(40)(8)
  private val accumulators =
    lengths.zipWithIndex.map { case (length, i) => Seq.fill(length)(i.toByte) }

  private def filled: NodeAccumulators = {
    val level = new NodeAccumulators(0L)
    accumulators.zipWithIndex.foreach { case (bytes, node) =>
      level.grow()
      assert(!level.isKnown(node))
      level.set(node, (9.toByte +: bytes).toArray, 1, bytes.length)
    }
    level
  }

  private def bytesOf(level: NodeAccumulators, node: Int): Option[Seq[Byte]] = {
    val range = new ByteRange
    Option.when(level.view(node, range))(range.copied.toSeq)
  }

  private def contents(level: NodeAccumulators) = (0 until level.length).map(bytesOf(level, _))

  test("a level holds accumulators of all lengths") {
    assertEquals(contents(filled), accumulators.map(Option(_)).toIndexedSeq)
  }

  test("an accumulator may change its length") {
    val level = filled
    Seq(200, 8, 16, 200, 0, 8).foreach { length =>
      level.set(2, Array.fill(length)(7.toByte), 0, length)
      assertEquals(bytesOf(level, 2), Some(Seq.fill(length)(7.toByte)))
    }
    assertEquals(bytesOf(level, 1), Some(accumulators(1)))
    assertEquals(bytesOf(level, 3), Some(accumulators(3)))
  }

  test("nodes move to the front") {
    val level = filled
    level.empty(1)
    val kept = Seq(0, 2, 4, 5, 6, 46)
    kept.zipWithIndex.foreach { case (from, to) => level.move(from, to) }
    level.truncate(kept.length)
    assertEquals(contents(level), kept.map(node => Option(accumulators(node))).toIndexedSeq)
    level.grow()
    assert(!level.isKnown(kept.length))
  }

  test("a node that takes the place of a moved one does not change it") {
    val level = filled
    // Both have another length than most, and the same.
    level.move(2, 1)
    level.truncate(2)
    level.grow()
    level.set(2, Array.fill(16)(7.toByte), 0, 16)
    assertEquals(bytesOf(level, 1), Some(accumulators(2)))
    assertEquals(bytesOf(level, 2), Some(Seq.fill(16)(7.toByte)))
  }

  test("a level outlasts the batch") {
    val level = filled
    level.empty(1)
    level.forget(5)
    val out = new StateWriter
    val store = new SweepStore(new EntriesInMemory, HeldBytesSuite.Arrays)
    level.write(store, out)
    val restored = new NodeAccumulators(0L)
    restored.read(store, new StateReader(out.take()))
    assertEquals(contents(restored), contents(level))
    assert(restored.isKnown(1))
    assert(!restored.isKnown(5))
  }
}
