package transom.engine.spec

/** Decides when a window fires. A trigger may wrap other triggers. */
sealed trait Trigger extends Product {

  /** Whether the trigger can be used with merging windows. */
  def canMerge: Boolean = nested.forall(_.canMerge)

  /** Whether the trigger itself controls the firing at the end of the window. */
  def isForEnds: Boolean = false

  /** Whether the trigger fires in processing time. */
  def isOnClock: Boolean = false

  /** The triggers that are direct arguments of this trigger. */
  def nested: Seq[Trigger] = Nil

  /** This trigger and all nested triggers, at any depth. */
  final def parts: Seq[Trigger] = this +: nested.flatMap(_.parts)
}

/** Fires when the watermark passes the end of the window.
  *
  * @param early
  *   the trigger for firings before the end; none for no early firings
  * @param late
  *   the trigger for firings after the end; none for no late firings
  */
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

/** Fires when processing time passes the end of the window. */
case object AfterClock extends Trigger {

  override def isForEnds: Boolean = true

  override def isOnClock: Boolean = true
}

/** Fires once, when the watermark reaches the end of the window plus the allowed lateness. */
case object AfterLateness extends Trigger {

  override def isForEnds: Boolean = true
}

/** Fires after every `rows` rows. */
final case class AfterCount(rows: Int) extends Trigger {

  Check.positive("rows", rows)
}

/** Fires when the distance between a row and the row of the last firing exceeds `threshold`.
  *
  * @param deltaColumn
  *   index of the distance function's column
  * @param threshold
  *   the distance that must be exceeded
  */
final case class AfterDelta(deltaColumn: Int, threshold: Double) extends Trigger {

  override def canMerge: Boolean = false
}

/** Fires at regular intervals, and at the end of the window.
  *
  * @param intervalUs
  *   the interval, in microseconds
  * @param clock
  *   whether the interval is in event time or processing time
  * @param aligned
  *   if true, fires at multiples of the interval since 1970; if false, counts from the window's
  *   first row
  */
final case class Every(
    intervalUs: Long,
    clock: TriggerClock = TriggerClock.Event,
    aligned: Boolean = true)
    extends Trigger {

  Check.positive("interval_us", intervalUs)

  override def isOnClock: Boolean = clock == TriggerClock.Processing
}

/** The time that a trigger follows: event time or processing time. */
sealed trait TriggerClock

/** The values of [[TriggerClock]]. */
object TriggerClock {

  /** Event time, measured by the watermark. */
  case object Event extends TriggerClock

  /** Processing time. */
  case object Processing extends TriggerClock
}

/** Fires when a predicate on the new row and the contents of its window is true.
  *
  * @param conditionColumn
  *   index of the predicate's column
  */
final case class When(conditionColumn: Int) extends Trigger

/** Fires at the end of each micro-batch that added rows to the window. */
case object EveryBatch extends Trigger

/** Fires when the input ends: at the end of a static DataFrame, or when a stream is drained. */
case object EndOfStream extends Trigger

/** Never fires. */
case object Never extends Trigger

/** Fires when `trigger` fires, and clears the contents of the window after each firing. */
final case class Purging(trigger: Trigger) extends Trigger {

  Check.isInside("trigger", trigger)

  override def nested: Seq[Trigger] = Seq(trigger)
}

/** Fires when `trigger` fires, and also after a timeout in processing time.
  *
  * As in Flink, any timer of the window makes this trigger fire (flink.md 5.8).
  *
  * @param trigger
  *   the wrapped trigger
  * @param afterUs
  *   the timeout in microseconds, counted from the first row since the last firing
  * @param reset
  *   whether each row restarts the timeout
  * @param clear
  *   whether `trigger` is reset when a timer fires
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
