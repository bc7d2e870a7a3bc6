package transom.engine.window

import scala.collection.mutable.ArrayBuffer

import transom.engine.time.Timeline

/** Windows that a column lists for each row.
  *
  * @param windowsColumn
  *   index of the column with the list of windows
  * @param merging
  *   whether intersecting windows of a key are merged
  */
final case class Custom(windowsColumn: Int, merging: Boolean = false) extends Window {

  override def isMerging: Boolean = merging

  override def placementColumn: Option[PlacementColumn] =
    Some(PlacementColumn.Listed(windowsColumn))

  override def assigner(timeline: Timeline): Assigner = new ListedAssigner(merging, timeline)

  override def slices: Either[String, SliceAssigner] = Left("Custom windows")

  override def isEndless: Boolean = false
}

/** Assigns each row to the windows that the row lists. */
final class ListedAssigner(override val isMerging: Boolean, override val timeline: Timeline)
    extends Assigner {

  override def assign(row: RowContext, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    windows ++= row.windows
}
