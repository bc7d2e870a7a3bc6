package transom.benchmarks

import java.nio.{ByteBuffer, ByteOrder}

import transom.engine.log.{Fold, Slice}

/** Adds numbers of eight bytes; a result is the sum. */
final class SumFold extends Fold[Long] {
  private val bytes = new Array[Byte](8)
  private val buffer = SumFold.view(bytes)
  private val slice = new Slice().set(bytes, 0, 8)
  private var sum = 0L

  override def start(accumulator: Slice): Unit = sum = read(accumulator)

  override def add(accumulator: Slice): Unit = sum += read(accumulator)

  override def folded: Slice = {
    buffer.putLong(0, sum)
    slice
  }

  override def result(key: Slice, windowStart: Long, windowEnd: Long): Long = sum

  private def read(accumulator: Slice): Long =
    SumFold.view(accumulator.bytes).getLong(accumulator.offset)
}

object SumFold {
  def view(bytes: Array[Byte]): ByteBuffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
}
