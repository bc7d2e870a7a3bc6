package transom.engine.conformance.driver

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import transom.engine.conformance.vector.Json
import transom.engine.state.{AccumulatorMerger, ByteRange}
import transom.engine.window.TimeWindow

/** Collects all rows of a window. The aggregates of the vectors are computed when the window
  * fires.
  */
final class RowList extends AccumulatorMerger[Fired] {

  private var bytes = Array.emptyByteArray
  private val whole = new ByteRange
  private var member = 0

  override def startMember(index: Int): Unit = member = index

  override def start(accumulator: ByteRange): Unit = bytes = RowList.copy(accumulator)

  override def merge(accumulator: ByteRange): Unit = bytes = bytes ++ RowList.copy(accumulator)

  override def accumulator: ByteRange = whole.set(bytes, 0, bytes.length)

  override def result(key: ByteRange, windowStart: Long, windowEnd: Long): Fired = {
    val values = RowList.values(bytes).sortBy(_._1).map(_._2)
    val window = TimeWindow(windowStart, windowEnd)
    Fired(RowList.json(RowList.copy(key)), window, values, member = member)
  }
}

object RowList {

  def range(bytes: Array[Byte]): ByteRange = new ByteRange().set(bytes, 0, bytes.length)

  /** Pads JSON with spaces to a multiple of 8 bytes, which the log requires. */
  def pad(json: Array[Byte]): Array[Byte] =
    json.padTo((json.length + 7) / 8 * 8, ' '.toByte)

  /** The values of an accumulator, each with the number of its row. */
  def values(accumulator: Array[Byte]): Vector[(Long, Json)] = {
    val in = ByteBuffer.wrap(accumulator)
    Iterator
      .continually(in)
      .takeWhile(_.hasRemaining)
      .map { in =>
        val arrival = in.getLong()
        val text = new Array[Byte](in.getLong().toInt)
        in.get(text)
        (arrival, json(text))
      }
      .toVector
  }

  def copy(range: ByteRange): Array[Byte] =
    range.bytes.slice(range.offset, range.offset + range.length)

  private def json(bytes: Array[Byte]): Json = Json.parse(new String(bytes, UTF_8))
}
