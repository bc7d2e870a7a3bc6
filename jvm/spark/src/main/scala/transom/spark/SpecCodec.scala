package transom.spark

import java.time.DayOfWeek

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import transom.engine.spec._

/**
 * The message that Python sends, into the spec. Every field must be there; unknown ones, unknown kinds and
 * parts that this version does not know are errors that name the field.
 */
object SpecCodec {
  val Version = 1
  private val mapper = new ObjectMapper

  def decode(message: String): WindowSpec = {
    val root =
      try mapper.readTree(message)
      catch { case e: JsonProcessingException => throw bad("message", e.getOriginalMessage) }
    val fields = new Fields(root, "message")
    val version = fields.int("version")
    if (version != Version) throw bad("version", s"it is $version, this jar reads $Version")
    LaterParts.foreach(fields.mustBeNull)
    val spec = guarded {
      WindowSpec(
        name = fields.textOption("name"),
        keyColumns = fields.ints("key_columns"),
        time = fields.kindOption("time").map(time),
        orderColumns = fields.ints("order_columns"),
        window = window(fields.kind("window")),
        trigger = trigger(fields.kind("trigger")),
        function = function(fields.kind("function")),
        allowedLatenessUs = fields.long("allowed_lateness_us"),
        drain = fields.boolean("drain"),
        lateRows = fields.choice("late_rows", LateRowsNames),
        keyGroups = fields.int("key_groups"),
        layout = fields.choice("layout", LayoutNames),
        clockUs = fields.long("clock_us"),
        rowLog = fields.int("row_log"))
    }
    Seq("pane", "retract", "dead_letters", "watermarks").foreach(fields.mustBeFalse)
    fields.done()
    spec
  }

  /** Fields of parts that this version does not build yet. */
  private val LaterParts = Seq("lifetime", "evictor", "idle_timeout", "output_policy", "first_output_us")

  private val LateRowsNames = Map("no" -> LateRows.No, "late" -> LateRows.Late, "partly" -> LateRows.Partly)
  private val LayoutNames = Map("auto" -> Layout.Auto, "panes" -> Layout.Panes, "keyed" -> Layout.Keyed)
  private val ClosedNames = Map("left" -> Closed.Left, "right" -> Closed.Right)
  private val UnitNames = Map(
    "day" -> CalendarUnit.Day,
    "week" -> CalendarUnit.Week,
    "month" -> CalendarUnit.Month,
    "quarter" -> CalendarUnit.Quarter,
    "year" -> CalendarUnit.Year)
  private val DayNames = DayOfWeek.values.map(day => day.name.toLowerCase -> day).toMap

  private def time(f: Fields): Time = f.closing(f.kind match {
    case "event_time" => EventTime(f.int("time_column"), f.longOption("delay_us"))
    case other => throw f.unknownKind(other)
  })

  private def window(f: Fields): Window = f.closing(f.kind match {
    case "tumbling" =>
      f.mustBe("stagger", "aligned")
      Tumbling(f.long("size_us"), f.long("offset_us"), f.closed, f.text("time_zone"))
    case "hopping" =>
      Hopping(f.long("size_us"), f.long("slide_us"), f.long("offset_us"), f.closed, f.text("time_zone"))
    case "cumulate" =>
      Cumulate(f.long("size_us"), f.long("step_us"), f.long("offset_us"), f.closed, f.text("time_zone"))
    case "calendar" =>
      Calendar(
        f.choice("unit", UnitNames),
        f.text("time_zone"),
        f.int("every"),
        f.choice("first_day", DayNames),
        f.long("offset_us"),
        f.closed)
    case "session" =>
      Seq("gap_column", "max_duration_us").foreach(f.mustBeNull)
      f.mustBe("max_check", ">=")
      f.mustBe("late_start", "open")
      Session(f.long("gap_us"), f.boolean("inclusive"), f.closed)
    case "global" => Global
    case other => throw f.unknownKind(other)
  })

  private def trigger(f: Fields): Trigger = f.closing(f.kind match {
    case "after_watermark" =>
      AfterWatermark(f.kindOption("early").map(trigger), f.kindOption("late").map(trigger))
    case "after_count" => AfterCount(f.int("rows"))
    case "end_of_stream" => EndOfStream
    case "never" => Never
    case other => throw f.unknownKind(other)
  })

  private def function(f: Fields): Function = f.closing(f.kind match {
    case "agg" => AggFunction(f.ints("aggregate_columns"))
    case other => throw f.unknownKind(other)
  })

  private def guarded[T](parse: => T): T =
    try parse
    catch { case e: InvalidSpec => throw bad(e.field, e.problem) }

  private def bad(field: String, problem: String): TransomException =
    new TransomException("TRANSOM_BAD_SPEC", Map("field" -> field, "problem" -> problem))

  /** An object of the message, of which each field is read once and none is left over. */
  private final class Fields(node: JsonNode, path: String) {
    if (!node.isObject) throw bad(path, "it is not an object")
    private var read = Set.empty[String]

    private def value(name: String): JsonNode = {
      read += name
      if (!node.has(name)) throw bad(s"$path.$name", "it is missing")
      node.get(name)
    }

    private def as[T](name: String, wanted: String)(convert: PartialFunction[JsonNode, T]): T =
      convert.applyOrElse(value(name), (_: JsonNode) => throw bad(s"$path.$name", s"it is not $wanted"))

    private def option[T](name: String)(convert: => T): Option[T] =
      if (value(name).isNull) None else Some(convert)

    def text(name: String): String = as(name, "text") { case v if v.isTextual => v.asText }
    def long(name: String): Long =
      as(name, "a whole number") { case v if v.isIntegralNumber && v.canConvertToLong => v.asLong }
    def int(name: String): Int =
      as(name, "a whole number") { case v if v.isIntegralNumber && v.canConvertToInt => v.asInt }
    def boolean(name: String): Boolean = as(name, "true or false") { case v if v.isBoolean => v.asBoolean }
    def ints(name: String): Seq[Int] = as(name, "a list of whole numbers") {
      case v if v.isArray && v.elements.asScala.forall(_.canConvertToInt) =>
        v.elements.asScala.map(_.asInt).toSeq
    }
    def textOption(name: String): Option[String] = option(name)(text(name))
    def longOption(name: String): Option[Long] = option(name)(long(name))
    def choice[T](name: String, choices: Map[String, T]): T = {
      val chosen = text(name)
      choices.getOrElse(
        chosen,
        throw bad(s"$path.$name", s"it is $chosen, known are ${choices.keys.toSeq.sorted.mkString(", ")}"))
    }
    def closed: Closed = choice("closed", ClosedNames)

    def kind: String = text("kind")
    def kind(name: String): Fields = new Fields(value(name), s"$path.$name")
    def kindOption(name: String): Option[Fields] = option(name)(kind(name))

    def mustBeNull(name: String): Unit =
      if (!value(name).isNull) throw bad(s"$path.$name", "this version does not know it: it must be null")
    def mustBeFalse(name: String): Unit =
      if (boolean(name)) throw bad(s"$path.$name", "this version does not know it: it must be false")
    def mustBe(name: String, only: String): Unit =
      if (text(name) != only) throw bad(s"$path.$name", s"this version knows only $only")

    def unknownKind(kind: String): TransomException = bad(s"$path.kind", s"$kind is unknown to this version")

    def done(): Unit = node.fieldNames.asScala.find(!read(_)).foreach { name =>
      throw bad(s"$path.$name", "this version does not know this field")
    }

    def closing[T](parsed: => T): T = {
      val result = parsed
      done()
      result
    }
  }
}
