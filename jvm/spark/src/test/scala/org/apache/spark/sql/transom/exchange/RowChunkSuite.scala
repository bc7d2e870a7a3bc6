package org.apache.spark.sql.transom.exchange

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.runtime.GroupInput
import transom.engine.state.ByteRange

class RowChunkSuite extends ScalaCheckSuite {
  import RowChunkSuite._

  property("a reader returns the rows of a chunk in the order of adding") {
    forAll(rows) { rows =>
      val chunk = new RowChunk(fullSize = 1 << 20)
      rows.foreach(addTo(chunk, _))
      assertEquals(chunk.isEmpty, rows.isEmpty)
      assertEquals(read(chunk.take()), rows)
    }
  }

  property("a chunk can be filled again after it was taken") {
    forAll(rows, rows) { (first, second) =>
      val chunk = new RowChunk(fullSize = 100)
      first.foreach(addTo(chunk, _))
      val taken = chunk.take()
      assert(chunk.isEmpty && !chunk.isFull)
      second.foreach(addTo(chunk, _))
      assertEquals(read(chunk.take()), second)
      assertEquals(read(taken), first)
    }
  }

  test("a chunk is full when its rows and their headers reach the size") {
    val row =
      ChunkRow(List.fill(8)(1), List.fill(16)(2), Nil, time = 5L, isPartlyLate = false, None)
    val chunk = new RowChunk(fullSize = 2 * (24 + 8 + 16))
    addTo(chunk, row)
    assert(!chunk.isFull)
    addTo(chunk, row)
    assert(chunk.isFull)
  }
}

/** Rows of chunks, with bytes that can be compared. */
private[exchange] object RowChunkSuite {

  final case class ChunkRow(
      key: List[Byte],
      value: List[Byte],
      input: List[Byte],
      time: Long,
      isPartlyLate: Boolean,
      watermark: Option[Long])

  // Lengths are multiples of 8. The widest row does not fit into the first array of a chunk.
  private val bytes: Gen[List[Byte]] =
    Gen.oneOf(0, 8, 16, 64, 2000).flatMap(Gen.listOfN(_, Gen.choose[Byte](-128, 127)))

  val row: Gen[ChunkRow] = for {
    key <- bytes
    value <- bytes
    input <- bytes
    time <- Gen.long
    isPartlyLate <- Gen.oneOf(true, false)
    watermark <- Gen.option(Gen.choose(-99L, 99L))
  } yield ChunkRow(key, value, input, time, isPartlyLate, watermark)

  val rows: Gen[List[ChunkRow]] = Gen.choose(0, 12).flatMap(Gen.listOfN(_, row))

  /** Adds a row from ranges in the middle of larger arrays. */
  def addTo(chunk: RowChunk, row: ChunkRow): Unit = {
    def range(bytes: List[Byte]): ByteRange =
      new ByteRange().set(Array[Byte](9, 9) ++ bytes ++ Array[Byte](9), 2, bytes.length)
    chunk.add(
      range(row.key),
      range(row.value),
      range(row.input),
      row.time,
      row.isPartlyLate,
      row.watermark)
  }

  /** @param ofChunk
    *   the watermark of rows that have none of their own
    */
  def rowOf(input: GroupInput.Row, ofChunk: Long): ChunkRow =
    ChunkRow(
      list(input.key),
      list(input.value),
      list(input.input),
      input.context.time,
      input.isPartlyLate,
      Some(input.context.watermark).filter(_ != ofChunk))

  def list(range: ByteRange): List[Byte] =
    range.bytes.slice(range.offset, range.offset + range.length).toList

  private def read(chunk: Array[Byte]): List[ChunkRow] = {
    val input = new GroupInput.Row
    val reader = new RowChunkReader(chunk, input)
    Iterator
      .continually(reader)
      .takeWhile(_.hasNext)
      .map { reader =>
        input.context.watermark = Long.MaxValue
        reader.read()
        rowOf(input, ofChunk = Long.MaxValue)
      }
      .toList
  }
}
