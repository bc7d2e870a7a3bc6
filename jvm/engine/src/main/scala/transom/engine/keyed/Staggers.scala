package transom.engine.keyed

import java.nio.ByteBuffer

import transom.engine.state.KeyGroups
import transom.engine.time.Ticks
import transom.engine.window.{Stagger, Tumbling}

/** Computes the window offset of a key group (flink.md 1.3). Different offsets prevent all
  * windows from firing at the same time.
  */
object Staggers {

  /** Returns the window offset of a key group in microseconds.
    *
    * @param group
    *   number of the key group
    * @param firstRow
    *   wall-clock time in microseconds when the key group's first row arrived. Keep this time in
    *   the state, or the windows move after a restart.
    */
  def offset(stagger: Stagger, window: Tumbling, group: Int, firstRow: Long): Long = {
    val moved = stagger match {
      case Stagger.Aligned => 0L
      case Stagger.Random => randomOffset(group, window.sizeUs)
      case Stagger.Natural =>
        val offset = Math.floorMod(window.offsetUs, window.sizeUs)
        Ticks.sinceBoundary(firstRow, window.sizeUs, offset)
    }
    (window.offsetUs + moved) % window.sizeUs
  }

  /** Derives a pseudo-random offset from the number of the key group, so the offset stays the
    * same after a restart.
    */
  private def randomOffset(group: Int, size: Long): Long =
    Math.floorMod(KeyGroups.hash(ByteBuffer.allocate(8).putLong(group).array), size)
}
