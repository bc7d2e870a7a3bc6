package transom.engine.sweep

import scala.collection.View

import transom.engine.keyed.contract.RowCodec
import transom.engine.spec.Lifetime
import transom.engine.state.ByteRange
import transom.engine.time.Ticks
import transom.engine.window._

/** Matches the rows with ends to the rows whose lifetimes they end.
  *
  * A row without end starts a lifetime, and waits. A row with an end is no data: it ends the row
  * with the same id. The time of a row with an end is this end. A row that waits ends at its
  * timeout at the latest. Not thread-safe.
  */
private[sweep] final class Edges[R, A <: AnyRef](
    lifetime: Lifetime,
    sweep: Sweep,
    live: LiveRowAggregation[R, A],
    codec: RowCodec[R],
    convention: TimeConvention) {
  private val range = new ByteRange
  private var missedByLast: View[TimeWindow] = View.empty

  /** The windows that the last row has missed, in the order of their ends. */
  def missed: View[TimeWindow] = missedByLast

  /** Adds a row to its key, or ends another row.
    *
    * @param id
    *   what `codec` returned for the row
    * @param bytes
    *   the encoded row
    */
  def process(
      state: SweepState,
      id: Array[Byte],
      bytes: Array[Byte],
      context: RowContext): RowOutcome = {
    if (state.openById == null) state.openById = indexOf(state)
    val hash = state.openById.hashOf(id)
    var open = state.openById.get(hash, id)
    if (open != null && open.end <= context.watermark) {
      state.openById.remove(open)
      open = null
    }
    if (context.end == RowContext.NoEnd) {
      if (open != null) RowOutcome.BadLifetime else start(state, id, hash, bytes, context)
    } else if (open == null || context.time > open.end) RowOutcome.BadLifetime
    else {
      state.openById.remove(open)
      end(state, open, context.time, context.watermark)
    }
  }

  /** Makes a pending row live. */
  def enter(state: SweepState, row: LifetimeRow): Unit = row match {
    case open: OpenRow =>
      state.pendingOpen -= 1
      state.live.open.add(indexed(state, open))
    case ended => live.add(state.live, ended)
  }

  /** The object of a pending row that the index has. */
  private def indexed(state: SweepState, row: OpenRow): OpenRow =
    if (state.openById == null) row
    else {
      val id = codec.idOf(view(row))
      val found = state.openById.get(state.openById.hashOf(id), id)
      // The id may belong to a later row.
      if (found != null && found.number == row.number) found else row
    }

  private def start(
      state: SweepState,
      id: Array[Byte],
      hash: Int,
      bytes: Array[Byte],
      context: RowContext): RowOutcome = {
    val start = context.time
    val watermark = context.watermark
    val end = lifetime.timeoutUs.fold(RowContext.NoEnd)(Ticks.add(start, _))
    val outcome = sweep.lateness(start, end, watermark)
    missedByLast = View.fromIteratorProvider(() => sweep.missed(start, end, watermark))
    if (outcome != RowOutcome.Late) {
      // A row in no window waits too, so that its end is not taken for an end without a start.
      val row = new OpenRow(math.max(start, watermark), end, bytes, 0, bytes.length)
      state.pending.add(row)
      state.pendingOpen += 1
      row.id = id
      row.hash = hash
      state.openById.add(row)
      state.timer = math.min(state.timer, sweep.timerOf(row.start))
    }
    outcome
  }

  private def end(state: SweepState, row: OpenRow, time: Long, watermark: Long): RowOutcome = {
    val from = row.start
    missedByLast = View.fromIteratorProvider(() => sweep.overrun(from, time, watermark))
    val isLate = missedByLast.nonEmpty
    val end = sweep.endOf(time, watermark)
    // A rule may have moved the end to the start of the lifetime, or before it.
    val isEmpty = end <= row.start && end <= startOf(row)
    if (row.slot == OpenRow.NoSlot) {
      state.pendingOpen -= 1
      if (isEmpty) state.pending.remove(row) else state.pending.replace(row, row.ended(end))
    } else {
      state.live.open.remove(row)
      if (isEmpty) {
        state.isChanged = true
        live.noteLeft(state.live, row)
      } else live.add(state.live, row.ended(end))
    }
    state.timer = math.min(state.timer, sweep.timerOfEnd(end))
    if (isLate) RowOutcome.EndedLate else RowOutcome.Ended
  }

  /** The start of a lifetime, which may be before the watermark that the row met. */
  private def startOf(row: OpenRow): Long = convention.timeIn(codec.timeOf(view(row)))

  private def indexOf(state: SweepState): OpenIndex = {
    val index = new OpenIndex
    (state.pending.iterator ++ state.live.open.iterator).foreach {
      case open: OpenRow =>
        open.id = codec.idOf(view(open))
        open.hash = index.hashOf(open.id)
        // A row that has stopped waiting may have the id of a later row.
        val other = index.get(open.hash, open.id)
        if (other == null) index.add(open)
        else if (other.end < open.end) {
          index.remove(other)
          index.add(open)
        }
      case _ =>
    }
    index
  }

  private def view(row: OpenRow): R = codec.view(range.set(row.bytes, row.offset, row.length))
}
