package transom.engine.spec

/** When a window gives results. */
sealed trait Trigger {

  /** Whether it can be used with windows that merge. */
  def canMerge: Boolean = nested.forall(_.canMerge)

  /** The triggers inside it. */
  def nested: Seq[Trigger] = Nil
}

/** At the end of the window, before it as `early` says, after it as `late` says. */
final case class AfterWatermark(
    early: Option[Trigger] = None,
    late: Option[Trigger] = Some(AfterCount(1)))
    extends Trigger {

  nested.foreach { inner =>
    Check.that("trigger", inner != EveryBatch, "has EveryBatch inside another trigger")
    Check.that("trigger", !inner.isInstanceOf[AfterWatermark], "has AfterWatermark inside itself")
  }

  override def nested: Seq[Trigger] = early.toSeq ++ late
}

/** When the wall clock passes the end of the window. */
case object AfterClock extends Trigger

/** Once, when the window takes no more late rows either. */
case object AfterLateness extends Trigger

/** Each time `rows` rows have come. */
final case class AfterCount(rows: Int) extends Trigger {

  Check.positive("rows", rows)
}

/** When a row is more than `threshold` away from the row of the last firing. */
final case class AfterDelta(deltaColumn: Int, threshold: Double) extends Trigger {

  override def canMerge: Boolean = false
}

/** At regular times, and at the end of the window.
  *
  * @param aligned
  *   at multiples of the interval since 1970; if not, counted from the window's first row
  */
final case class Every(
    intervalUs: Long,
    clock: TriggerClock = TriggerClock.Event,
    aligned: Boolean = true)
    extends Trigger {

  Check.positive("interval_us", intervalUs)
}

/** What a trigger tells the time by. */
sealed trait TriggerClock

object TriggerClock {
  case object Event extends TriggerClock
  case object Processing extends TriggerClock
}

/** When a condition on the new row and the window so far holds. */
final case class When(conditionColumn: Int) extends Trigger

/** At the end of each micro-batch that brought the window rows. */
case object EveryBatch extends Trigger

/** When the input ends: a static DataFrame, or a stream that is drained. */
case object EndOfStream extends Trigger

case object Never extends Trigger

/** As `trigger`, and the contents go after each firing. */
final case class Purging(trigger: Trigger) extends Trigger {

  override def nested: Seq[Trigger] = Seq(trigger)
}

/** As `trigger`, and `afterUs` its first row on the wall clock.
  *
  * @param reset
  *   count from the newest row instead
  * @param clear
  *   whether `trigger` starts anew when the time is over
  */
final case class ProcessingTimeout(
    trigger: Trigger,
    afterUs: Long,
    reset: Boolean = false,
    clear: Boolean = true)
    extends Trigger {

  Check.positive("after_us", afterUs)
  Check.that("trigger", trigger != EveryBatch, "has EveryBatch inside another trigger")

  override def canMerge: Boolean = false

  override def nested: Seq[Trigger] = Seq(trigger)
}
