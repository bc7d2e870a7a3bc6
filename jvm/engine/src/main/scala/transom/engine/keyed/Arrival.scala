package transom.engine.keyed

import transom.engine.{Grid, TimeWindow}

/** When and how a row came: all that the operator looks at besides its contents. One instance
  * serves all rows of a task.
  */
final class Arrival {

  /** Its time in force, or `Arrival.NoTime`. Where windows go by the wall clock, that is its
    * time.
    */
  var time: Long = Arrival.NoTime

  /** The slice of the grid that it is in, where it stands for rows of several times; else
    * `Grid.NoSlice`.
    */
  var slice: Long = Grid.NoSlice

  /** The watermark that it met: nothing before it was still to come. */
  var watermark: Long = Long.MinValue

  /** What the wall clock showed. */
  var clock: Long = Long.MinValue

  /** Its own session gap, where each row brings one. */
  var gap: Long = 0L

  /** Its own windows, where each row brings them. */
  var windows: Seq[TimeWindow] = Nil
}

object Arrival {
  final val NoTime = Long.MinValue
}

/** What became of a row. */
sealed trait Disposition

object Disposition {

  /** It is in all its windows. */
  case object Added extends Disposition

  /** Some of its windows were closed; it is in the others. */
  case object PartlyLate extends Disposition

  /** All its windows were closed. */
  case object Late extends Disposition

  /** It belongs to no window: it lies in a gap between them, or brought none. */
  case object NoWindow extends Disposition
}

/** The times that windows and timers go by. */
sealed trait Timeline

object Timeline {

  /** Event time, which the watermark measures. */
  case object Event extends Timeline

  /** The wall clock. */
  case object Clock extends Timeline

  /** None: the windows have no end. */
  case object Endless extends Timeline
}
