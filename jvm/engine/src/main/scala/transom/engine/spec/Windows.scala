package transom.engine.spec

import java.time.{DateTimeException, DayOfWeek}

import transom.engine.Zone

/** How rows are put into windows. Durations are microseconds. */
sealed trait Window {

  /** Whether windows of a key that meet become one. */
  def isMerging: Boolean = false

  /** How far windows are moved, key group by key group. */
  def stagger: Stagger = Stagger.Aligned
}

/** Windows that lie on a fixed grid and are the same for every key. */
sealed trait GridWindow extends Window {
  def offsetUs: Long
  def closed: Closed
  def timeZone: String
}

/** Which end of a window belongs to it. */
sealed trait Closed

object Closed {
  case object Left extends Closed
  case object Right extends Closed
}

final case class Tumbling(
    sizeUs: Long,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left,
    timeZone: String = "UTC",
    override val stagger: Stagger = Stagger.Aligned)
    extends GridWindow {

  Check.positive("size_us", sizeUs)
  Check.offset(offsetUs, sizeUs)
  Check.zone(timeZone)
}

final case class Hopping(
    sizeUs: Long,
    slideUs: Long,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left,
    timeZone: String = "UTC")
    extends GridWindow {

  Check.positive("size_us", sizeUs)
  Check.positive("slide_us", slideUs)
  Check.offset(offsetUs, slideUs)
  Check.zone(timeZone)
  Check.that(
    "slide_us",
    sizeUs / slideUs <= Hopping.MostWindowsPerRow,
    s"puts each row into more than ${Hopping.MostWindowsPerRow} windows")
}

object Hopping {
  final val MostWindowsPerRow = 10000000L
}

final case class Cumulate(
    sizeUs: Long,
    stepUs: Long,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left,
    timeZone: String = "UTC")
    extends GridWindow {

  Check.positive("size_us", sizeUs)
  Check.positive("step_us", stepUs)
  Check.that("size_us", sizeUs % stepUs == 0, s"is not a multiple of step_us, $stepUs")
  Check.offset(offsetUs, sizeUs)
  Check.zone(timeZone)
}

final case class Calendar(
    unit: CalendarUnit,
    timeZone: String,
    every: Int = 1,
    firstDay: DayOfWeek = DayOfWeek.MONDAY,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left)
    extends GridWindow {

  Check.positive("every", every)
  Check.that("every", every <= Calendar.MostUnits, s"is above ${Calendar.MostUnits}")
  Check.offset(offsetUs, every * unit.shortestUs)
  Check.zone(timeZone)
}

object Calendar {

  /** As many years still fit into microseconds. */
  final val MostUnits = 100000
}

/** A unit of the calendar, and the length of its shortest instance on the wall clock. */
sealed abstract class CalendarUnit(shortestDays: Int) {
  val shortestUs: Long = shortestDays * 86400000000L
}

object CalendarUnit {
  case object Day extends CalendarUnit(1)
  case object Week extends CalendarUnit(7)
  case object Month extends CalendarUnit(28)
  case object Quarter extends CalendarUnit(90)
  case object Year extends CalendarUnit(365)
}

/** Windows that stay open while rows keep arriving, at most `gapUs` apart. */
final case class Session(gapUs: Long, inclusive: Boolean = true, closed: Closed = Closed.Left)
    extends Window {

  Check.positive("gap_us", gapUs)

  override def isMerging: Boolean = true
}

/** Sessions whose rows each bring their gap. */
final case class DynamicSession(
    gapColumn: Int,
    inclusive: Boolean = true,
    closed: Closed = Closed.Left)
    extends Window {

  override def isMerging: Boolean = true
}

/** One window for all time. */
case object Global extends Window

/** Windows of `size` rows, one every `slide` rows.
  *
  * @param partial
  *   give a result every `slide` rows, of the last `size` rows or as many as there are; if not,
  *   full windows alone do
  */
final case class Count(size: Int, slide: Option[Int] = None, partial: Boolean = false)
    extends Window {

  Check.positive("size", size)
  slide.foreach(Check.positive("slide", _))
  Check.that(
    "slide",
    partial || size / step <= Hopping.MostWindowsPerRow,
    s"puts each row into more than ${Hopping.MostWindowsPerRow} windows")

  def step: Int = slide.getOrElse(size)

  /** The only one they fire by. */
  def trigger: AfterCount = AfterCount(if (partial) step else size)

  /** Whether windows have numbers. Side by side they are full when they fire, either way. */
  def isNumbered: Boolean = !partial || step == size
}

/** Windows that each row lists.
  *
  * @param merging
  *   whether windows of a key that meet become one
  */
final case class Custom(windowsColumn: Int, merging: Boolean = false) extends Window {

  override def isMerging: Boolean = merging
}

/** How far windows of one size are moved, beyond their offset, so that not all fire at once. */
sealed trait Stagger

object Stagger {

  /** Not at all. */
  case object Aligned extends Stagger

  /** By a number drawn for each key group. */
  case object Random extends Stagger

  /** By as much as the group's first row came after the start of its window. */
  case object Natural extends Stagger
}

private object Check {

  def that(field: String, holds: Boolean, problem: => String): Unit =
    if (!holds) throw new InvalidSpec(field, problem)

  def positive(field: String, value: Long): Unit =
    that(field, value > 0, s"must be positive, but is $value")

  def notNegative(field: String, value: Long): Unit =
    that(field, value >= 0, s"must not be negative, but is $value")

  def isInside(field: String, trigger: Trigger): Unit =
    that(field, !trigger.parts.contains(EveryBatch), "has EveryBatch inside another trigger")

  def offset(offset: Long, period: Long): Unit =
    that(
      "offset_us",
      -period < offset && offset < period,
      s"must be smaller than $period either way, but is $offset")

  def zone(name: String): Unit =
    try Zone.of(name)
    catch {
      case e: DateTimeException =>
        throw new InvalidSpec("time_zone", s"names no known time zone: ${e.getMessage}")
    }
}
