package transom.engine.slice

import transom.engine.operator.{OpenStarts, SegmentLog}
import transom.engine.state.AccumulatorMerger
import transom.engine.window.Grid

/** The slice logs of several windows in one pass. Each log gets each segment that its windows
  * still need, and fires by itself.
  *
  * @param logs
  *   the grid and the log of each member
  */
private[slice] final class SeveralLogs[T](
    logs: Vector[(Grid, SliceLog[T])],
    merger: AccumulatorMerger[T])
    extends SegmentLog[T] {

  override def append(slice: Long, segment: Array[Byte], lateWatermark: Long): Unit =
    logs.foreach { case (grid, log) =>
      val own = grid.sliceAt(slice)
      if (own != Grid.NoSlice && grid.lastEndOf(own) > lateWatermark)
        log.append(own, segment, lateWatermark)
    }

  override def openStarts: Option[Option[OpenStarts]] = {
    val open = logs.flatMap { case (_, log) => log.openStarts.flatten }
    Some(Option.when(open.nonEmpty)(OpenStarts(open.map(_.earliest).min, open.map(_.latest).max)))
  }

  override def nextTimer: Long = logs.map { case (_, log) => log.nextTimer }.min

  override def fire(watermark: Long): Iterator[T] =
    logs.iterator.zipWithIndex.flatMap { case ((_, log), member) =>
      merger.startMember(member)
      log.fire(watermark).map(counted)
    }

  override def save(): Unit = logs.foreach { case (_, log) => log.save() }
}
