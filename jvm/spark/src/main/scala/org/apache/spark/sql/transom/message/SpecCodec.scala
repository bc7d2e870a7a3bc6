package org.apache.spark.sql.transom.message

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException}
import com.fasterxml.jackson.databind.{DeserializationFeature, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.transom.message.MessageWriter.{nameOf, obj}

import transom.engine.setting.{Constants, InvalidSpec}
import transom.engine.spec._

/** Reads and writes the message: the spec as JSON, as Python sends it and the checkpoint stores
  * it.
  *
  * All fields are required. A missing field, an unknown field and an unknown kind raise an error
  * that names the field.
  */
object SpecCodec {

  private val mapper = new ObjectMapper()
    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
    .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)

  private val lateRowsNames =
    Seq("no" -> LateRows.No, "late" -> LateRows.Late, "partly" -> LateRows.Partly)
  private val policyNames = Seq(
    "point_align_to_window_end" -> OutputPolicy.PointAlignToWindowEnd,
    "clip_to_window_end" -> OutputPolicy.ClipToWindowEnd)
  private val layoutNames =
    Seq("auto" -> Layout.Auto, "slices" -> Layout.Slices, "keyed" -> Layout.Keyed)

  private val formNames = Seq("arrow" -> RowsForm.Arrow, "pandas" -> RowsForm.Pandas)

  /** Decodes the message of a window operator.
    *
    * @param refusal
    *   the error for a setting that the engine refuses, with the path of its field. Python has
    *   checked the settings already, so by default the message itself is wrong
    */
  def decode(
      message: String,
      refusal: (String, InvalidSpec) => Throwable = badMessage): WindowSpec =
    parse(message, refusal).readAll(readSpec)

  /** Decodes the message of a time stage without windows. */
  def decodeStamped(
      message: String,
      refusal: (String, InvalidSpec) => Throwable = badMessage): StampSpec =
    parse(message, refusal).readAll(readStamped)

  private def badMessage(path: String, e: InvalidSpec): Throwable =
    MessageObject.bad(path, s"it ${e.problem}")

  private def parse(
      message: String,
      refusal: (String, InvalidSpec) => Throwable): MessageObject = {
    val node =
      try mapper.readTree(message)
      catch {
        case e: JsonProcessingException =>
          throw MessageObject.bad("message", s"it is not JSON: ${e.getOriginalMessage}")
      }
    new MessageObject(node, "", refusal)
  }

  private def checkVersion(m: MessageObject): Unit = {
    val version = m.int("version")
    if (version != Constants.MessageVersion)
      throw MessageObject.bad(
        "version",
        s"it is $version, this jar reads ${Constants.MessageVersion}")
  }

  private def readStamped(m: MessageObject): StampSpec = {
    checkVersion(m)
    m.obj("function")
      .readAll(function => if (function.kind != "stamped") throw function.unknownKind)
    StampSpec(
      policy = m.obj("time").readAll(TimeCodec.readPolicy),
      lifetime = m.optional("lifetime")(m.obj(_).readAll(TimeCodec.readLifetime)),
      orderColumns = m.columns("order_columns"),
      keyGroups = m.int("key_groups"))
  }

  private def readSpec(m: MessageObject): WindowSpec = {
    checkVersion(m)
    val time = m.optional("time")(m.obj(_).readAll(TimeCodec.read))
    val window = m.obj("window").readAll(WindowCodec.read)
    WindowSpec(
      name = m.optional("name")(m.text),
      keyColumns = m.columns("key_columns"),
      time = time,
      lifetime = m.optional("lifetime")(m.obj(_).readAll(TimeCodec.readLifetime)),
      orderColumns = m.columns("order_columns"),
      window = window,
      trigger = m
        .optional("trigger")(m.obj(_).readAll(TriggerCodec.readTrigger))
        .orElse(window.defaultTrigger(isOnClock = time.contains(ProcessingTime)))
        .getOrElse(throw new InvalidSpec("trigger", "must be set", "NEEDS_TRIGGER", Map.empty)),
      evictor = m.optional("evictor")(m.obj(_).readAll(TriggerCodec.readEvictor)),
      function = m.obj("function").readAll(readFunction),
      allowedLatenessUs = m.duration("allowed_lateness_us"),
      idleTimeout = m.optional("idle_timeout")(m.obj(_).readAll(TimeCodec.readIdleTimeout)),
      outputPolicy = m.optional("output_policy")(m.choice(_, policyNames)),
      firstOutputUs = m.optional("first_output_us")(m.instant),
      drain = m.boolean("drain"),
      pane = m.boolean("pane"),
      retract = m.boolean("retract"),
      changesOnly = m.boolean("changes_only"),
      lateRows = m.choice("late_rows", lateRowsNames),
      deadLetters = m.boolean("dead_letters"),
      watermarks = m.boolean("watermarks"),
      keyGroups = m.int("key_groups"),
      layout = m.choice("layout", layoutNames),
      tickUs = m.duration("tick_us"),
      rowLog = m.int("row_log"))
  }

  private def readFunction(m: MessageObject): Function = m.kind match {
    case "agg" => AggFunction(m.columns("aggregate_columns"))
    case "apply" =>
      ApplyFunction(
        m.json("schema"),
        m.choice("form", formNames),
        m.columns("agg_columns"),
        windowState = m.optional("window_state")(m.json),
        keyState = m.optional("key_state")(m.json),
        outputs = m.optional("outputs")(m.json))
    case _ => throw m.unknownKind
  }

  /** Encodes a spec as a message that `decode` can read. Equal specs give equal messages. */
  def encode(spec: WindowSpec): String =
    mapper.writeValueAsString(
      obj(
        "version" -> Constants.MessageVersion,
        "name" -> spec.name,
        "key_columns" -> spec.keyColumns,
        "time" -> spec.time.map(TimeCodec.write),
        "lifetime" -> spec.lifetime.map(TimeCodec.write),
        "order_columns" -> spec.orderColumns,
        "window" -> WindowCodec.write(spec.window),
        "trigger" -> TriggerCodec.writeTrigger(spec.trigger),
        "evictor" -> spec.evictor.map(TriggerCodec.writeEvictor),
        "function" -> writeFunction(spec.function),
        "allowed_lateness_us" -> spec.allowedLatenessUs,
        "idle_timeout" -> spec.idleTimeout.map(TimeCodec.write),
        "output_policy" -> spec.outputPolicy.map(nameOf(_, policyNames)),
        "first_output_us" -> spec.firstOutputUs,
        "drain" -> spec.drain,
        "pane" -> spec.pane,
        "retract" -> spec.retract,
        "changes_only" -> spec.changesOnly,
        "late_rows" -> nameOf(spec.lateRows, lateRowsNames),
        "dead_letters" -> spec.deadLetters,
        "watermarks" -> spec.watermarks,
        "key_groups" -> spec.keyGroups,
        "layout" -> nameOf(spec.layout, layoutNames),
        "tick_us" -> spec.tickUs,
        "row_log" -> spec.rowLog))

  /** Encodes a time stage without windows. */
  def encode(spec: StampSpec): String =
    mapper.writeValueAsString(
      obj(
        "version" -> Constants.MessageVersion,
        "time" -> TimeCodec.write(spec.policy),
        "lifetime" -> spec.lifetime.map(TimeCodec.write),
        "order_columns" -> spec.orderColumns,
        "key_groups" -> spec.keyGroups,
        "function" -> obj("kind" -> "stamped")))

  private def writeFunction(function: Function): ObjectNode = function match {
    case AggFunction(columns) => obj("kind" -> "agg", "aggregate_columns" -> columns)
    case ApplyFunction(schema, form, columns, windowState, keyState, outputs) =>
      obj(
        "kind" -> "apply",
        "schema" -> mapper.readTree(schema),
        "form" -> nameOf(form, formNames),
        "agg_columns" -> columns,
        "window_state" -> windowState.map(mapper.readTree),
        "key_state" -> keyState.map(mapper.readTree),
        "outputs" -> outputs.map(mapper.readTree))
  }
}
