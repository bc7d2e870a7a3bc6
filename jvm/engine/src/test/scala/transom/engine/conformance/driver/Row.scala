package transom.engine.conformance.driver

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import transom.engine.conformance.vector.Json
import transom.engine.state.{ByteRange, KeyGroups}
import transom.engine.window.{RowContext, TimeWindow}

/** A row of a vector. `arrival` numbers the rows, because a merge may change their order.
  *
  * @param clock
  *   wall-clock time when the row arrived
  * @param gap
  *   session gap of the row, if each row has its own gap
  * @param windows
  *   windows of the row, if each row lists its windows
  * @param met
  *   the watermark that the row met, if each row has its own watermark
  * @param end
  *   end of the row's lifetime, if rows have lifetimes
  * @param isPunctuation
  *   whether the row only sets the watermark of its source to its time
  * @param id
  *   identifies the lifetime of the row, if another row ends it
  */
final case class Row(
    key: Json,
    value: Json,
    time: Option[Long],
    arrival: Long,
    clock: Long = 0L,
    gap: Long = 0L,
    windows: Seq[TimeWindow] = Nil,
    met: Option[Long] = None,
    end: Long = RowContext.NoEnd,
    isPunctuation: Boolean = false,
    id: String = "") {

  val keyBytes: ByteRange = RowList.range(RowList.pad(key.toString.getBytes(UTF_8)))
  val hash: Long = KeyGroups.hash(keyBytes.bytes)

  /** The accumulator of this row alone. */
  def accumulator: ByteRange = {
    val text = RowList.pad(value.toString.getBytes(UTF_8))
    RowList.range(
      ByteBuffer.allocate(16 + text.length).putLong(arrival).putLong(text.length).put(text).array)
  }
}
