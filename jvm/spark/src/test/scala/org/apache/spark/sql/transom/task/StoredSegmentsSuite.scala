package org.apache.spark.sql.transom.task

import munit.FunSuite

import transom.engine.state.SegmentEntries

class StoredSegmentsSuite extends FunSuite {

  private def bytes(size: Int): Array[Byte] = Array.fill(size)(size.toByte)

  test("a segment is found by its slice and sequence number until it is removed") {
    StateStoreHandle.using { state =>
      val segments = new SegmentEntries(new SparkKeyGroupState(state.handle))
      state.select(1)
      val keys = for {
        slice <- Seq(Long.MinValue, -1L, 0L, 1L, 256L, Long.MaxValue)
        sequence <- Seq(0, 1, 256, Int.MaxValue)
      } yield (slice, sequence)
      keys.zipWithIndex.foreach { case ((slice, sequence), i) =>
        segments.put(slice, sequence, bytes(i + 1))
      }
      keys.zipWithIndex.foreach { case ((slice, sequence), i) =>
        assertEquals(segments.get(slice, sequence).toSeq, bytes(i + 1).toSeq)
      }
      segments.remove(0L, 1)
      assertEquals(segments.get(0L, 1), null)
      assertEquals(segments.get(0L, 0).length, keys.indexOf((0L, 0)) + 1)
    }
  }

  test("key groups do not share segments or directories") {
    StateStoreHandle.using { state =>
      val segments = new SegmentEntries(new SparkKeyGroupState(state.handle))
      Seq(1, 2).foreach { group =>
        state.select(group)
        assertEquals(segments.directory, null)
        segments.saveDirectory(bytes(group))
        segments.put(5L, 0, bytes(10 * group))
      }
      state.select(1)
      assertEquals(segments.directory.toSeq, bytes(1).toSeq)
      assertEquals(segments.get(5L, 0).length, 10)
      segments.remove(5L, 0)
      segments.removeDirectory()
      assertEquals(segments.directory, null)
      state.select(2)
      assertEquals(segments.directory.toSeq, bytes(2).toSeq)
      assertEquals(segments.get(5L, 0).length, 20)
    }
  }
}
