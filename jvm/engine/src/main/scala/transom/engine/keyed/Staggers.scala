package transom.engine.keyed

import java.nio.ByteBuffer

import transom.engine.{KeyGroups, Ticks}
import transom.engine.spec.{Stagger, Tumbling}

/** How far the windows of a key group are moved (flink.md 1.3), so that not all of them fire at
  * once.
  */
object Staggers {

  /** The offset of the group's windows.
    *
    * @param firstRow
    *   what the wall clock showed when the group's first row came; it has to be kept, or windows
    *   would move with a restart
    */
  def offset(stagger: Stagger, window: Tumbling, group: Int, firstRow: Long): Long = {
    val moved = stagger match {
      case Stagger.Aligned => 0L
      case Stagger.Random => drawn(group, window.sizeUs)
      case Stagger.Natural =>
        val offset = Math.floorMod(window.offsetUs, window.sizeUs)
        Ticks.sinceBoundary(firstRow, window.sizeUs, offset)
    }
    (window.offsetUs + moved) % window.sizeUs
  }

  /** Pinned to the group, so that a restart draws the same. */
  private def drawn(group: Int, size: Long): Long =
    Math.floorMod(KeyGroups.hash(ByteBuffer.allocate(8).putLong(group).array), size)
}
