package transom.engine.sweep

import transom.engine.keyed.contract._
import transom.engine.state.{StateReader, StateWriter, UnknownStateVersion}
import transom.engine.time.Timeline
import transom.engine.window.RowContext

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

  /** Whether rows have become live, or have ended, since the last window that held rows. */
  private[sweep] var isChanged = false

  /** The watermark from which on the sweep can move; `Long.MaxValue` if there is none. */
  private[sweep] var timer = Long.MaxValue

  // The end of the input reaches each key, to forget its rows.
  override def nextTimer: Long =
    if (isEmpty) Long.MaxValue else math.min(timer, Timeline.EndOfTime)

  override def nextClockTimer: Long = Long.MaxValue

  override def isEmpty: Boolean = pending.isEmpty && live.isEmpty

  override def heldBytes: Long = pending.heldBytes + live.heldBytes

  /** The number of pending rows that wait for the row with their end. */
  private[sweep] var pendingOpen = 0

  override def openRows: Int = if (live.open == null) 0 else pendingOpen + live.open.size

  /** The rows that wait for the row with their end, by id. May also contain rows that have
    * stopped waiting. Null until the batch needs it.
    */
  private[sweep] var openById: OpenIndex = _

  /** The last end of a lifetime, or the last start of a lifetime without end. */
  private[sweep] def lastStop: Long =
    (pending.iterator ++ live.iterator).foldLeft(Long.MinValue) { (last, row) =>
      math.max(last, if (row.end == RowContext.NoEnd) row.start + 1 else row.end)
    }

  private[sweep] def clear(): Unit = {
    pending.clear()
    live.clear()
    pendingOpen = 0
    openById = null
    timer = Long.MaxValue
  }
}

/** The entries in which a key stores rows, and the codec of the rows. All keys of a task share
  * it. Not thread-safe.
  */
private[sweep] final class SweepStore(val entries: Entries, val codec: RowCodec[_]) {

  /** Encodes rows. Empty between calls. */
  val out = new StateWriter
}

/** Encodes and decodes the states of keys.
  *
  * {{{
  * key     version, layout of the rows, position, number of starts, timer, whether live rows
  *         have changed, pending rows, live rows; with edges also the number of pending rows that
  *         wait for their end
  * }}}
  *
  * Parts of the state are in entries, see [[PendingRows]], [[RowChunks]] and [[Segments]]. An
  * entry keeps the layout in which its rows were written. Rows of another layout are converted
  * when they are read.
  */
private[sweep] final class SweepCodec(hasEdges: Boolean, store: SweepStore)
    extends PerKeyCodec[SweepState] {
  private val currentVersion = if (hasEdges) SweepCodec.EdgeVersion else SweepCodec.Version
  private val out = new StateWriter

  override def create(): SweepState =
    new SweepState(
      new PendingRows(store, hasEdges),
      new LiveRows(if (hasEdges) new OpenRows(store) else null, store))

  override def encode(state: SweepState): Array[Byte] = {
    out.byte(currentVersion)
    out.signed(store.codec.layout)
    out.signed(state.position)
    out.unsigned(state.starts)
    out.signed(state.timer)
    out.byte(if (state.isChanged) 1 else 0)
    state.pending.write(out)
    state.live.write(out)
    if (hasEdges) out.unsigned(state.pendingOpen)
    out.take()
  }

  override def removeEntries(state: SweepState): Unit = {
    state.pending.removeEntries()
    state.live.clear()
  }

  override def decode(bytes: Array[Byte]): SweepState = {
    val in = new StateReader(bytes)
    val version = in.byte()
    if (version != currentVersion) throw new UnknownStateVersion("a key", version, currentVersion)
    val written = in.signed().toInt
    val state = create()
    state.position = in.signed()
    state.starts = in.unsigned()
    state.timer = in.signed()
    state.isChanged = in.byte() != 0
    state.pending.read(in, written)
    state.live.read(in, written)
    if (hasEdges) state.pendingOpen = in.unsigned().toInt
    state
  }
}

private object SweepCodec {
  // The other states of the keyed layout have small numbers.
  final val Version = 72
  final val EdgeVersion = 74
}
