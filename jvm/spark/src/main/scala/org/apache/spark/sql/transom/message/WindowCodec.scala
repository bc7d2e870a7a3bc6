package org.apache.spark.sql.transom.message

import java.time.DayOfWeek
import java.util.Locale

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.transom.message.MessageWriter.{nameOf, obj}

import transom.engine.setting.InvalidSpec
import transom.engine.window._

/** Reads and writes the windows of the message. */
private[message] object WindowCodec {

  private val closedNames = Seq("left" -> Closed.Left, "right" -> Closed.Right)
  private val unitNames = Seq(
    "day" -> CalendarUnit.Day,
    "week" -> CalendarUnit.Week,
    "month" -> CalendarUnit.Month,
    "quarter" -> CalendarUnit.Quarter,
    "year" -> CalendarUnit.Year)
  private val dayNames =
    DayOfWeek.values.toSeq.map(day => day.name.toLowerCase(Locale.ROOT) -> day)
  private val lateStartNames = Seq("open" -> LateStart.Open, "reject" -> LateStart.Reject)
  private val maxCheckNames = Seq(">=" -> MaxCheck.AtLeast, ">" -> MaxCheck.Above)
  private val staggerNames =
    Seq("aligned" -> Stagger.Aligned, "random" -> Stagger.Random, "natural" -> Stagger.Natural)

  def read(m: MessageObject): Window = {
    def size = m.duration("size_us")
    def offset = m.duration("offset_us")
    def closed = m.choice("closed", closedNames)
    def zone = m.text("time_zone")
    m.kind match {
      case "tumbling" => Tumbling(size, offset, closed, zone, m.choice("stagger", staggerNames))
      case "hopping" => Hopping(size, m.duration("slide_us"), offset, closed, zone)
      case "cumulate" => Cumulate(size, m.duration("step_us"), offset, closed, zone)
      case "calendar" =>
        val unit = m.choice("unit", unitNames)
        Calendar(unit, zone, m.int("every"), m.choice("first_day", dayNames), offset, closed)
      case "session" => readSession(m, closed)
      case "global" => Global
      case "count" => Count(m.int("size"), m.optional("slide")(m.int), m.boolean("partial"))
      case "custom" => Custom(m.column("windows_column"), m.boolean("merging"))
      case "snapshot" => Snapshot(closed)
      case "rolling" => Rolling(size)
      case "count_by_start" => CountByStart(m.int("size"))
      case "windows" => Windows(m.objects("windows").map(_.readAll(readMember)))
      case _ => throw m.unknownKind
    }
  }

  private def readMember(m: MessageObject): NamedWindow =
    NamedWindow(m.optional("id")(m.text), m.obj("window").readAll(read))

  private def readSession(m: MessageObject, closed: Closed): Window = {
    val inclusive = m.boolean("inclusive")
    val lateStart = m.choice("late_start", lateStartNames)
    val longest = m.optional("max_duration_us")(m.duration)
    val check = m.choice("max_check", maxCheckNames)
    (m.optional("gap_us")(m.duration), m.optional("gap_column")(m.column)) match {
      case (Some(gap), None) => Session(gap, inclusive, closed, lateStart, longest, check)
      case (None, Some(column)) =>
        DynamicSession(column, inclusive, closed, lateStart, longest, check)
      case _ =>
        throw new InvalidSpec(
          "gap_column",
          "and gap_us: one must be null, and one not",
          "BAD_CHOICE",
          Map("value" -> "not one gap", "choices" -> "a duration or a column"))
    }
  }

  def write(window: Window): ObjectNode = window match {
    case tumbling: Tumbling =>
      writeGrid(
        tumbling,
        "kind" -> "tumbling",
        "size_us" -> tumbling.sizeUs,
        "stagger" -> nameOf(tumbling.stagger, staggerNames))
    case hopping: Hopping =>
      writeGrid(
        hopping,
        "kind" -> "hopping",
        "size_us" -> hopping.sizeUs,
        "slide_us" -> hopping.slideUs)
    case cumulate: Cumulate =>
      writeGrid(
        cumulate,
        "kind" -> "cumulate",
        "size_us" -> cumulate.sizeUs,
        "step_us" -> cumulate.stepUs)
    case calendar: Calendar =>
      writeGrid(
        calendar,
        "kind" -> "calendar",
        "unit" -> nameOf(calendar.unit, unitNames),
        "every" -> calendar.every,
        "first_day" -> nameOf(calendar.firstDay, dayNames))
    case session: Session => writeSession(session, Some(session.gapUs), None)
    case session: DynamicSession => writeSession(session, None, Some(session.gapColumn))
    case Global => obj("kind" -> "global")
    case Count(size, slide, partial) =>
      obj("kind" -> "count", "size" -> size, "slide" -> slide, "partial" -> partial)
    case Custom(column, merging) =>
      obj("kind" -> "custom", "windows_column" -> column, "merging" -> merging)
    case Snapshot(closed) =>
      obj("kind" -> "snapshot", "closed" -> nameOf(closed, closedNames))
    case Rolling(size) => obj("kind" -> "rolling", "size_us" -> size)
    case CountByStart(size) => obj("kind" -> "count_by_start", "size" -> size)
    case Windows(windows) =>
      val members =
        windows.map(member => obj("id" -> member.id, "window" -> write(member.window)))
      obj("kind" -> "windows", "windows" -> members)
    case other => throw new IllegalArgumentException(s"the message has no form for $other")
  }

  private def writeGrid(grid: GridWindow, fields: (String, Any)*): ObjectNode =
    obj(
      fields ++ Seq(
        "offset_us" -> grid.offsetUs,
        "closed" -> nameOf(grid.closed, closedNames),
        "time_zone" -> grid.timeZone): _*)

  private def writeSession(
      session: SessionWindow,
      gap: Option[Long],
      column: Option[Int]): ObjectNode =
    obj(
      "kind" -> "session",
      "gap_us" -> gap,
      "gap_column" -> column,
      "inclusive" -> session.inclusive,
      "closed" -> nameOf(session.closed, closedNames),
      "max_duration_us" -> session.maxDurationUs,
      "max_check" -> nameOf(session.maxCheck, maxCheckNames),
      "late_start" -> nameOf(session.lateStart, lateStartNames))
}
