package transom.engine.spec

/** When a window gives results. */
sealed trait Trigger {

  /** Whether it can be used with windows that merge. */
  def canMerge: Boolean = nested.forall(_.canMerge)

  /** Whether it says itself what happens at the end of a window. */
  def isForEnds: Boolean = false

  /** Whether it fires by the wall clock. */
  def isOnClock: Boolean = false

  /** The triggers inside it. */
  def nested: Seq[Trigger] = Nil

  /** It, and all triggers inside it. */
  final def parts: Seq[Trigger] = this +: nested.flatMap(_.parts)
}

/** At the end of the window, before it as `early` says, after it as `late` says. */
final case class AfterWatermark(
    early: Option[Trigger] = None,
    late: Option[Trigger] = Some(AfterCount(1)))
    extends Trigger {

  Seq("early" -> early, "late" -> late).foreach { case (field, inner) =>
    inner.foreach { trigger =>
      Check.isInside(field, trigger)
      Check.that(field, !trigger.parts.exists(_.isForEnds), "has a trigger for ends of windows")
    }
  }

  override def nested: Seq[Trigger] = early.toSeq ++ late

  override def isForEnds: Boolean = true
}

/** When the wall clock passes the end of the window. */
case object AfterClock extends Trigger {

  override def isForEnds: Boolean = true

  override def isOnClock: Boolean = true
}

/** Once, when the window takes no more late rows either. */
case object AfterLateness extends Trigger {

  override def isForEnds: Boolean = true
}

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

  override def isOnClock: Boolean = clock == TriggerClock.Processing
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

  Check.isInside("trigger", trigger)

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
  Check.isInside("trigger", trigger)

  override def isOnClock: Boolean = true

  override def canMerge: Boolean = false

  override def nested: Seq[Trigger] = Seq(trigger)
}
