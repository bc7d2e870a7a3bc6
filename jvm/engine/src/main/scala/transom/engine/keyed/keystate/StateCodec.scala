package transom.engine.keyed.keystate

import transom.engine.firing.TriggerMemory
import transom.engine.keyed.contract.{PerKeyCodec, WindowAggregation}
import transom.engine.state.{StateReader, StateWriter, UnknownStateVersion}
import transom.engine.time.Timeline
import transom.engine.window.{RowContext, TimeWindow}

/** Encodes and decodes the state of a key.
  *
  * {{{
  * key      version, number of the next row list, row count, times, windows sorted by start
  *          and end
  * window   difference of its start to the start of the previous window, length, bit set of the
  *          parts that follow, then these parts: accumulator, trigger memory, watermark timers,
  *          wall-clock timers, rows, firings, last emitted results, times of the first and
  *          last row
  * }}}
  *
  * Accumulators that were not read since `decode` are copied without decoding. A decoded state
  * refers to the array that `decode` received, so that array must not change. Holds a mutable
  * buffer: create one codec per task.
  */
final class StateCodec[A <: AnyRef](aggregation: WindowAggregation[_, A])
    extends PerKeyCodec[KeyState[A]] {
  import StateCodec._

  private val out = new StateWriter

  override def create(): KeyState[A] = new KeyState[A]

  override def encode(state: KeyState[A]): Array[Byte] = {
    out.byte(Version)
    out.unsigned(state.nextList)
    out.unsigned(state.rowCount)
    writeTimes(state)
    out.unsigned(state.windows.size)
    var start = 0L
    state.windows.values.forEach { window =>
      out.signed(window.bounds.start - start)
      start = window.bounds.start
      write(window)
    }
    out.take()
  }

  override def decode(bytes: Array[Byte]): KeyState[A] = {
    val in = new StateReader(bytes)
    val version = in.byte()
    if (version != Version) throw new UnknownStateVersion("a key", version, Version)
    val state = new KeyState[A]
    state.nextList = in.unsigned()
    state.rowCount = in.unsigned()
    if (in.byte() != 0) {
      state.watermark = in.signed()
      state.clock = in.signed()
    }
    var left = in.unsigned()
    var start = 0L
    while (left > 0) {
      start += in.signed()
      val window = read(in, start)
      state.add(window)
      state.noteTimer(Timeline.Event, window.watermarkTimers.first)
      state.noteTimer(Timeline.Clock, window.clockTimers.first)
      left -= 1
    }
    state
  }

  // The times matter for timers in the past, and for the watermark at which a timer by the wall
  // clock fires. Without such timers they are omitted.
  private def writeTimes(state: KeyState[A]): Unit = {
    val isNeeded = state.watermarkBound <= state.watermark || state.clockBound != Long.MaxValue
    out.byte(if (isNeeded) 1 else 0)
    if (isNeeded) {
      out.signed(state.watermark)
      out.signed(state.clock)
    }
  }

  private def write(window: WindowState[A]): Unit = {
    val end = window.bounds.end
    out.signed(end - window.bounds.start)
    val hasMemory = !window.remembersNothing
    val hasRows = window.rows != null && (!window.rows.isEmpty || window.rows.next > 0)
    out.unsigned(
      flag(window.hasAccumulator, Accumulator) | flag(hasMemory, Memory) |
        flag(!window.watermarkTimers.isEmpty, WatermarkTimers) |
        flag(!window.clockTimers.isEmpty, ClockTimers) | flag(hasRows, Rows) |
        flag(window.firings > 0, Firings) | flag(window.lastEmitted.nonEmpty, LastEmitted) |
        flag(window.endsSilently, EndsSilently) |
        flag(window.firstTime != RowContext.NoTime, RowTimes))
    if (window.hasAccumulator) writeAccumulator(window)
    if (hasMemory) {
      out.unsigned(window.memory.length)
      window.memory.foreach { value =>
        out.byte(if (value == TriggerMemory.Unset) 0 else 1)
        if (value != TriggerMemory.Unset) out.signed(value)
      }
    }
    if (!window.watermarkTimers.isEmpty) write(window.watermarkTimers, end)
    if (!window.clockTimers.isEmpty) write(window.clockTimers, end)
    if (hasRows) write(window.rows)
    if (window.firings > 0) out.unsigned(window.firings)
    if (window.lastEmitted.nonEmpty) {
      out.unsigned(window.lastEmitted.length)
      window.lastEmitted.foreach { emitted =>
        out.signed(emitted.bounds.start - end)
        out.signed(emitted.bounds.end - end)
        out.array(emitted.result)
      }
    }
    if (window.firstTime != RowContext.NoTime) {
      out.signed(window.firstTime)
      out.signed(window.lastTime)
    }
  }

  private def read(in: StateReader, start: Long): WindowState[A] = {
    val end = start + in.signed()
    val window = new WindowState[A](TimeWindow(start, end))
    val parts = in.unsigned().toInt
    window.endsSilently = (parts & EndsSilently) != 0
    if ((parts & Accumulator) != 0) {
      window.encodedLength = in.skipArray()
      window.encodedFrom = in.offset - window.encodedLength
      window.encoded = in.bytes
    }
    if ((parts & Memory) != 0) {
      window.memory = Array.fill(in.unsigned().toInt) {
        if (in.byte() == 0) TriggerMemory.Unset else in.signed()
      }
    }
    if ((parts & WatermarkTimers) != 0) read(in, window.watermarkTimers, end)
    if ((parts & ClockTimers) != 0) read(in, window.clockTimers, end)
    if ((parts & Rows) != 0) window.rows = readRows(in)
    if ((parts & Firings) != 0) window.firings = in.unsigned().toInt
    if ((parts & LastEmitted) != 0) {
      window.lastEmitted = List.fill(in.unsigned().toInt) {
        val bounds = TimeWindow(end + in.signed(), end + in.signed())
        new EmittedResult(bounds, in.array())
      }
    }
    if ((parts & RowTimes) != 0) {
      window.firstTime = in.signed()
      window.lastTime = in.signed()
    }
    window
  }

  private def writeAccumulator(window: WindowState[A]): Unit =
    if (window.encoded != null) {
      out.array(window.encoded, window.encodedFrom, window.encodedLength)
    } else {
      val encoded = aggregation.encode(window.accumulator)
      out.array(encoded.bytes, encoded.offset, encoded.length)
    }

  // Most timers are at or near the end of their window, so the difference takes few bytes.
  private def write(timers: Timers, end: Long): Unit = {
    out.unsigned(timers.size)
    var i = 0
    while (i < timers.size) {
      out.signed(timers(i) - end)
      i += 1
    }
  }

  private def read(in: StateReader, timers: Timers, end: Long): Unit = {
    var left = in.unsigned()
    while (left > 0) {
      timers.add(end + in.signed())
      left -= 1
    }
  }

  private def write(rows: RowRuns): Unit = {
    out.unsigned(rows.list)
    out.unsigned(rows.next)
    out.unsigned(rows.runs.length)
    rows.runs.foreach { run =>
      out.unsigned(run.list)
      out.unsigned(run.from)
      out.unsigned(run.until - run.from)
    }
  }

  private def readRows(in: StateReader): RowRuns = {
    val rows = new RowRuns(in.unsigned())
    rows.next = in.unsigned()
    var left = in.unsigned()
    while (left > 0) {
      val list = in.unsigned()
      val from = in.unsigned()
      rows.runs += new RowRuns.Run(list, from, from + in.unsigned())
      left -= 1
    }
    rows
  }
}

/** Version of the state format, and the bits that mark the parts of a window. */
object StateCodec {
  final val Version = 4

  private final val Accumulator = 1
  private final val Memory = 2
  private final val WatermarkTimers = 4
  private final val ClockTimers = 8
  private final val Rows = 16
  private final val Firings = 32
  private final val LastEmitted = 64
  private final val EndsSilently = 128
  private final val RowTimes = 256

  private def flag(isThere: Boolean, part: Int): Int = if (isThere) part else 0
}
