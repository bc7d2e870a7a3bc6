package transom.benchmarks

import java.nio.{ByteBuffer, ByteOrder}

import transom.engine.state.{AccumulatorMerger, ByteRange}

/** Adds eight-byte numbers. The result of a key is their sum. */
final class SumMerger extends AccumulatorMerger[Long] {
  private val bytes = new Array[Byte](8)
  private val buffer = SumMerger.view(bytes)
  private val range = new ByteRange().set(bytes, 0, 8)
  private var sum = 0L

  override def start(accumulator: ByteRange): Unit = sum = read(accumulator)

  override def merge(accumulator: ByteRange): Unit = sum += read(accumulator)

  override def accumulator: ByteRange = {
    buffer.putLong(0, sum)
    range
  }

  override def result(key: ByteRange, windowStart: Long, windowEnd: Long): Long = sum

  private def read(accumulator: ByteRange): Long =
    SumMerger.view(accumulator.bytes).getLong(accumulator.offset)
}

object SumMerger {
  def view(bytes: Array[Byte]): ByteBuffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
}
