package transom.engine.runtime

import transom.engine.spec._
import transom.engine.time.Timeline

/** Turns the watermark of an operator into the watermark of its results: no later result starts
  * before it (S-22). A result that is a point at the end of its window holds nothing back. A
  * result that lasts as long as its window holds the watermark at the start of the earliest
  * window that is still open.
  */
final class OutputWatermark(spec: WindowSpec) {
  private val convention = spec.window.convention
  private val grids =
    if (spec.outputPolicy.contains(OutputPolicy.ClipToWindowEnd))
      spec.window.grids.map(_.grid)
    else Nil

  /** @param watermark
    *   the watermark of the operator, in the engine's convention
    * @return
    *   in the host's convention; the last instant that a row may have at the end of the input
    */
  def of(watermark: Long): Long =
    if (watermark >= Timeline.EndOfTime) RowRules.LastTime
    else {
      val starts = grids.map(grid => grid.instantOf(grid.firstAfter(watermark).start))
      starts.foldLeft(convention.watermarkOut(watermark))(math.min)
    }
}
