package transom.engine.sweep

import transom.engine.keyed.state._
import transom.engine.window.{Arrival, GlobalGrid}

/** State of one key: the rows that the sweep has reached, and the rows that it has not reached.
  * Times follow the engine's convention. Not thread-safe.
  *
  * @param pending
  *   the rows that start later
  * @param live
  *   the rows whose lifetimes contain the position
  */
final class SweepState private[sweep] (
    private[sweep] val pending: PendingRows,
    private[sweep] val live: LiveRows)
    extends PerKeyState {

  /** The instant that the sweep has reached. */
  private[sweep] var position = Long.MinValue

  /** Number of distinct start times so far; counted only for windows that count them. */
  private[sweep] var starts = 0L

  /** The watermark from which on the sweep can move; `Long.MaxValue` if there is none. */
  private[sweep] var timer = Long.MaxValue

  // The end of the input reaches each key, to forget its rows.
  override def nextTimer: Long =
    if (isEmpty) Long.MaxValue else math.min(timer, GlobalGrid.EndOfTime)

  override def nextClockTimer: Long = Long.MaxValue

  override def isEmpty: Boolean = pending.isEmpty && live.isEmpty

  override def size: Int = pending.size + live.size

  /** The last end of a lifetime, or the last start of a lifetime without end. */
  private[sweep] def lastStop: Long =
    (pending.iterator ++ live.iterator).foldLeft(Long.MinValue) { (last, row) =>
      math.max(last, if (row.end == Arrival.NoEnd) row.start + 1 else row.end)
    }

  private[sweep] def clear(): Unit = {
    pending.clear()
    live.clear()
    timer = Long.MaxValue
  }
}

/** Encodes and decodes the states of keys.
  *
  * {{{
  * key     version, position, number of starts, timer, rows that start later, live rows
  * }}}
  */
private[sweep] final class SweepCodec extends PerKeyCodec[SweepState] {
  private val out = new StateWriter

  override def create(): SweepState = new SweepState(new PendingRows, new LiveRows)

  override def encode(state: SweepState): Array[Byte] = {
    out.byte(SweepCodec.Version)
    out.signed(state.position)
    out.unsigned(state.starts)
    out.signed(state.timer)
    LiveRows.writeRows(state.pending.iterator, state.pending.size, out)
    state.live.write(out)
    out.take()
  }

  override def decode(bytes: Array[Byte]): SweepState = {
    val in = new StateReader(bytes)
    val version = in.byte()
    if (version != SweepCodec.Version) throw new UnknownStateVersion(version)
    val position = in.signed()
    val starts = in.unsigned()
    val timer = in.signed()
    val pending = new PendingRows
    LiveRows.readRows(in)(pending.add)
    val state = new SweepState(pending, LiveRows.read(in))
    state.position = position
    state.starts = starts
    state.timer = timer
    state
  }
}

private object SweepCodec {
  // The other states of the keyed layout have small numbers.
  final val Version = 64
}
