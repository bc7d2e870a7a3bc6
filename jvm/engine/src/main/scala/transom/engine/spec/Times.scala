package transom.engine.spec

import transom.engine.setting.{Check, Durations}

/** The time that windows follow. */
sealed trait Time extends Product {

  /** Whether a watermark measures this time. */
  def isEventTime: Boolean
}

/** Event time, read from a column. The watermark of the host advances it once per batch.
  *
  * @param timeColumn
  *   index of the time column
  * @param delayUs
  *   how far the watermark trails the latest event time, in microseconds; none if it is defined
  *   elsewhere
  */
final case class EventTime(timeColumn: Int, delayUs: Option[Long] = None) extends Time {

  delayUs.foreach(Check.notNegative("delay_us", _))

  override def isEventTime: Boolean = true
}

/** Processing time. No row is late. */
case object ProcessingTime extends Time {
  override def isEventTime: Boolean = false
}

/** Event time whose rules judge each row when it arrives. The watermark advances row by row.
  *
  * The rows of a source have an order: the rows of an input partition, of a substream, or all
  * rows. Each source has a watermark of its own.
  *
  * @param timeColumn
  *   index of the time column; none if the arrival time is the time of a row
  * @param arrivalColumn
  *   index of the column with the arrival time of a row; none for the time of the micro-batch
  * @param partitionColumn
  *   index of the column that identifies the input partition, if there are several
  * @param partitions
  *   the ids that the partition column may have; empty for any
  * @param overColumns
  *   columns that identify a substream
  * @param early
  *   the rule for rows whose time is after their arrival, if there is one
  * @param late
  *   the rule for rows whose time is long before their arrival, if there is one
  * @param outOfOrder
  *   the rule for rows that are behind the watermark of their source. Its bound is the distance
  *   from the latest time to the watermark.
  * @param advance
  *   when the watermark advances
  * @param idlePartitionUs
  *   how long a partition may be silent, in microseconds of the wall clock, before the watermark
  *   no longer waits for it; none if the watermark always waits
  * @param estimateArrival
  *   whether the watermark moves on while no rows arrive
  */
final case class TimePolicy(
    timeColumn: Option[Int],
    arrivalColumn: Option[Int],
    partitionColumn: Option[Int],
    partitions: Seq[String],
    overColumns: Seq[Int],
    early: Option[TimeRule],
    late: Option[TimeRule],
    outOfOrder: TimeRule,
    advance: AdvanceRule,
    idlePartitionUs: Option[Long],
    estimateArrival: Boolean)
    extends Time {

  Seq("early" -> early, "late" -> late).foreach { case (field, rule) =>
    Check.that(
      field,
      !rule.exists(_.isInstanceOf[Accept]),
      "must drop or adjust rows",
      "BAD_CHOICE",
      "value" -> "Accept",
      "choices" -> "Drop or Adjust")
    Check.that(
      field,
      timeColumn.isDefined || rule.isEmpty,
      "needs a time column besides the arrival time",
      "TOLERANCE_WITHOUT_TIME",
      "value" -> rule.fold("")(_.text))
  }
  idlePartitionUs.foreach(Check.positive("idle_partition_us", _))
  Seq(
    "partitions" -> Option.when(partitions.nonEmpty)(partitions.mkString("['", "', '", "']")),
    "idle_partition_us" -> idlePartitionUs.map(us => s"'${Durations.text(us)}'")).foreach {
    case (field, value) =>
      Check.that(
        field,
        value.isEmpty || partitionColumn.isDefined,
        "needs a partition column",
        "NEEDS_PARTITION",
        "value" -> value.getOrElse(""))
  }
  Check.that(
    "estimate_arrival",
    !estimateArrival || late.isDefined,
    "needs a late rule",
    "ESTIMATE_NEEDS_LATE")

  override def isEventTime: Boolean = true
}

/** What a time policy does with a row beyond a bound. Rows at the bound are not beyond it. */
sealed trait TimeRule extends Product {

  /** The bound in microseconds. */
  def beyondUs: Long

  /** The rule as users write it. */
  final def text: String = s"$productPrefix('${Durations.text(beyondUs)}')"

  Check.notNegative("beyond_us", beyondUs)
}

/** Leaves the row as it is. Its windows decide what becomes of it. */
final case class Accept(beyondUs: Long) extends TimeRule

/** Drops the row. */
final case class Drop(beyondUs: Long) extends TimeRule

/** Moves the time of the row to the bound. */
final case class Adjust(beyondUs: Long) extends TimeRule

/** When the watermark of a source advances. */
sealed trait AdvanceRule {

  /** How the watermark follows the times of rows; none if it does not follow them. */
  def periodic: Option[Periodic]
}

/** The watermark follows the times of rows. At least one of the settings is present.
  *
  * @param rows
  *   number of accepted rows after which the watermark advances
  * @param everyUs
  *   span in microseconds: the watermark advances when the latest time reaches a multiple of the
  *   span since 1970, and then follows this multiple
  */
final case class Periodic(rows: Option[Int], everyUs: Option[Long]) extends AdvanceRule {

  Check.that(
    "rows",
    rows.isDefined || everyUs.isDefined,
    "must be set if every_us is not",
    "MISSING_ARGUMENT",
    "owner" -> productPrefix,
    "instead" -> "Periodic(100)")
  rows.foreach(Check.positive("rows", _))
  everyUs.foreach(Check.positive("every_us", _))

  override def periodic: Option[Periodic] = Some(this)
}

/** Some rows of a source are punctuation: they only set its watermark.
  *
  * @param whenColumn
  *   index of the condition that is true for punctuation
  * @param atColumn
  *   index of the column with the watermark that a punctuation sets
  * @param beside
  *   how the watermark also follows the times of the other rows; none if it does not
  */
final case class Punctuated(whenColumn: Int, atColumn: Int, beside: Option[Periodic])
    extends AdvanceRule {
  override def periodic: Option[Periodic] = beside
}

/** When windows close although no row arrives.
  *
  * @param afterUs
  *   how long the whole input must be silent, in microseconds of the wall clock
  * @param rule
  *   how the end of a window and the silence together decide
  */
final case class IdleTimeout(afterUs: Long, rule: IdleRule) {
  Check.positive("after_us", afterUs)
}

/** How the end of a window and the silence of the input decide when the window closes. */
sealed trait IdleRule

/** The values of [[IdleRule]]. */
object IdleRule {

  /** The timeout begins at the last row or at the end of the window, whichever is later. */
  case object AfterWindowEnd extends IdleRule

  /** The window closes when its end has come and the timeout since the last row has passed. */
  case object GreaterOf extends IdleRule

  /** The window closes when the timeout since the last row has passed, whatever its end. */
  case object LastRow extends IdleRule
}

/** The spec of an operator that stamps rows by a time policy, without windows.
  *
  * @param lifetime
  *   how long a row lasts, if the stamp shows it
  * @param orderColumns
  *   columns that define the order in which rows arrived
  * @param keyGroups
  *   number of key groups, by the hash of the source
  */
final case class StampSpec(
    policy: TimePolicy,
    lifetime: Option[Lifetime],
    orderColumns: Seq[Int],
    keyGroups: Int) {

  Check.positive("key_groups", keyGroups)
  Check.that(
    "lifetime.id_columns",
    !lifetime.exists(_.hasEdges),
    "cannot be used without windows",
    "CONFLICT",
    "step" -> "stamped()",
    "other" -> "Lifetime(id=)",
    "why" -> "only windows wait for the ends of lifetimes")
}
