package transom.spark

import java.time.DayOfWeek

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException}
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

import transom.engine.spec._

/** The message that travels between Python and the JVM, and lies in checkpoints.
  *
  * Every field must be there; unknown ones, unknown kinds and parts that this version does not
  * have are errors that name the field.
  */
object SpecCodec {

  val Version = 1

  private val mapper = new ObjectMapper()
    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
    .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)

  private val lateRowsNames =
    Seq("no" -> LateRows.No, "late" -> LateRows.Late, "partly" -> LateRows.Partly)
  private val layoutNames =
    Seq("auto" -> Layout.Auto, "panes" -> Layout.Panes, "keyed" -> Layout.Keyed)
  private val closedNames = Seq("left" -> Closed.Left, "right" -> Closed.Right)
  private val unitNames = Seq(
    "day" -> CalendarUnit.Day,
    "week" -> CalendarUnit.Week,
    "month" -> CalendarUnit.Month,
    "quarter" -> CalendarUnit.Quarter,
    "year" -> CalendarUnit.Year)
  private val dayNames = DayOfWeek.values.toSeq.map(day => day.name.toLowerCase -> day)

  def decode(message: String): WindowSpec = {
    val node =
      try mapper.readTree(message)
      catch {
        case e: JsonProcessingException =>
          throw MessageObject.bad("message", s"it is not JSON: ${e.getOriginalMessage}")
      }
    new MessageObject(node, "").readAll(readSpec)
  }

  private def readSpec(m: MessageObject): WindowSpec = {
    val version = m.int("version")
    if (version != Version)
      throw MessageObject.bad("version", s"it is $version, this jar reads $Version")
    m.mustBeNull("lifetime", "evictor", "idle_timeout", "output_policy", "first_output_us")
    m.mustBeFalse("pane", "retract", "dead_letters", "watermarks")
    WindowSpec(
      name = m.optional("name")(m.text),
      keyColumns = m.columns("key_columns"),
      time = m.optional("time")(m.obj(_).readAll(readTime)),
      orderColumns = m.columns("order_columns"),
      window = m.obj("window").readAll(readWindow),
      trigger = m.obj("trigger").readAll(readTrigger),
      function = m.obj("function").readAll(readFunction),
      allowedLatenessUs = m.long("allowed_lateness_us"),
      drain = m.boolean("drain"),
      lateRows = m.choice("late_rows", lateRowsNames),
      keyGroups = m.int("key_groups"),
      layout = m.choice("layout", layoutNames),
      clockUs = m.long("clock_us"),
      rowLog = m.int("row_log"))
  }

  private def readTime(m: MessageObject): Time = m.kind match {
    case "event_time" => EventTime(m.column("time_column"), m.optional("delay_us")(m.long))
    case _ => throw m.unknownKind
  }

  private def readWindow(m: MessageObject): Window = {
    def size = m.long("size_us")
    def offset = m.long("offset_us")
    def closed = m.choice("closed", closedNames)
    def zone = m.text("time_zone")
    m.kind match {
      case "tumbling" =>
        m.mustBe("stagger", "aligned")
        Tumbling(size, offset, closed, zone)
      case "hopping" => Hopping(size, m.long("slide_us"), offset, closed, zone)
      case "cumulate" => Cumulate(size, m.long("step_us"), offset, closed, zone)
      case "calendar" =>
        val unit = m.choice("unit", unitNames)
        Calendar(unit, zone, m.int("every"), m.choice("first_day", dayNames), offset, closed)
      case "session" =>
        m.mustBeNull("gap_column", "max_duration_us")
        m.mustBe("max_check", ">=")
        m.mustBe("late_start", "open")
        Session(m.long("gap_us"), m.boolean("inclusive"), closed)
      case "global" => Global
      case _ => throw m.unknownKind
    }
  }

  private def readTrigger(m: MessageObject): Trigger = m.kind match {
    case "after_watermark" =>
      AfterWatermark(
        m.optional("early")(m.obj(_).readAll(readTrigger)),
        m.optional("late")(m.obj(_).readAll(readTrigger)))
    case "after_count" => AfterCount(m.int("rows"))
    case "end_of_stream" => EndOfStream
    case "never" => Never
    case _ => throw m.unknownKind
  }

  private def readFunction(m: MessageObject): Function = m.kind match {
    case "agg" => AggFunction(m.columns("aggregate_columns"))
    case _ => throw m.unknownKind
  }

  /** The message that `decode` reads back; equal specs give equal messages. */
  def encode(spec: WindowSpec): String =
    mapper.writeValueAsString(
      obj(
        "version" -> Version,
        "name" -> spec.name,
        "key_columns" -> spec.keyColumns,
        "time" -> spec.time.map(writeTime),
        "lifetime" -> None,
        "order_columns" -> spec.orderColumns,
        "window" -> writeWindow(spec.window),
        "trigger" -> writeTrigger(spec.trigger),
        "evictor" -> None,
        "function" -> writeFunction(spec.function),
        "allowed_lateness_us" -> spec.allowedLatenessUs,
        "idle_timeout" -> None,
        "output_policy" -> None,
        "first_output_us" -> None,
        "drain" -> spec.drain,
        "pane" -> false,
        "retract" -> false,
        "late_rows" -> nameOf(spec.lateRows, lateRowsNames),
        "dead_letters" -> false,
        "watermarks" -> false,
        "key_groups" -> spec.keyGroups,
        "layout" -> nameOf(spec.layout, layoutNames),
        "clock_us" -> spec.clockUs,
        "row_log" -> spec.rowLog))

  private def writeTime(time: Time): ObjectNode = time match {
    case EventTime(column, delay) =>
      obj("kind" -> "event_time", "time_column" -> column, "delay_us" -> delay)
  }

  private def writeWindow(window: Window): ObjectNode = window match {
    case grid: GridWindow =>
      val written = writeGrid(grid)
      written.put("offset_us", grid.offsetUs)
      written.put("closed", nameOf(grid.closed, closedNames))
      written.put("time_zone", grid.timeZone)
    case Session(gap, inclusive, closed) =>
      obj(
        "kind" -> "session",
        "gap_us" -> gap,
        "gap_column" -> None,
        "inclusive" -> inclusive,
        "closed" -> nameOf(closed, closedNames),
        "max_duration_us" -> None,
        "max_check" -> ">=",
        "late_start" -> "open")
    case Global => obj("kind" -> "global")
    case other => throw notInMessages(other)
  }

  private def writeGrid(window: GridWindow): ObjectNode = window match {
    case Tumbling(size, _, _, _) =>
      obj("kind" -> "tumbling", "size_us" -> size, "stagger" -> "aligned")
    case Hopping(size, slide, _, _, _) =>
      obj("kind" -> "hopping", "size_us" -> size, "slide_us" -> slide)
    case Cumulate(size, step, _, _, _) =>
      obj("kind" -> "cumulate", "size_us" -> size, "step_us" -> step)
    case Calendar(unit, _, every, firstDay, _, _) =>
      obj(
        "kind" -> "calendar",
        "unit" -> nameOf(unit, unitNames),
        "every" -> every,
        "first_day" -> nameOf(firstDay, dayNames))
  }

  private def writeTrigger(trigger: Trigger): ObjectNode = trigger match {
    case AfterWatermark(early, late) =>
      obj(
        "kind" -> "after_watermark",
        "early" -> early.map(writeTrigger),
        "late" -> late.map(writeTrigger))
    case AfterCount(rows) => obj("kind" -> "after_count", "rows" -> rows)
    case EndOfStream => obj("kind" -> "end_of_stream")
    case Never => obj("kind" -> "never")
    case other => throw notInMessages(other)
  }

  private def writeFunction(function: Function): ObjectNode = function match {
    case AggFunction(columns) => obj("kind" -> "agg", "aggregate_columns" -> columns)
  }

  private def notInMessages(part: Any): Throwable =
    new IllegalArgumentException(s"messages of version $Version have no $part")

  private def nameOf[T](value: T, names: Seq[(String, T)]): String =
    names.collectFirst { case (name, `value`) => name }.get

  private def obj(fields: (String, Any)*): ObjectNode = {
    val written = mapper.createObjectNode()
    fields.foreach { case (name, value) => written.set[JsonNode](name, json(value)) }
    written
  }

  private def json(value: Any): JsonNode = value match {
    case None => mapper.nullNode
    case Some(inner) => json(inner)
    case columns: Seq[_] =>
      columns.foldLeft(mapper.createArrayNode())((list, column) => list.add(json(column)))
    case other => mapper.valueToTree[JsonNode](other)
  }
}
