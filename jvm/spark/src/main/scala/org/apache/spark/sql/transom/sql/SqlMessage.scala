package org.apache.spark.sql.transom.sql

import scala.collection.mutable

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.trees.{CurrentOrigin, Origin}
import org.apache.spark.sql.catalyst.util.IntervalUtils
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.message.{MessageWriter, SpecCodec}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

import transom.engine.setting.{Constants, Durations, InvalidSpec}
import transom.engine.spec.{EventTime, ProcessingTime, StampSpec, Time, TimePolicy, WindowSpec}

/** The message of a query in SQL, as Python sends it for the same query.
  *
  * The arguments of all calls are checked here. The engine checks what they mean together. Errors
  * name the place in the text.
  *
  * @param call
  *   the window or the table function
  * @param isStreaming
  *   whether the rows are a stream
  */
abstract class SqlMessage(call: ValueCall, isStreaming: Boolean) {
  import SqlMessage._

  private val found = mutable.ArrayBuffer.empty[Expression]
  // The places in the text of the objects and fields of the message.
  private val places = mutable.LinkedHashMap.empty[String, Origin]

  protected val passed: Map[String, Expression] = bound(call, call.function.parametersInQuery)

  /** The message. */
  protected def written: ObjectNode

  /** The columns of the message, in the order of their indexes. */
  final lazy val (message: String, columns: Seq[Expression]) = {
    val message = written.toString
    (message, found.toSeq)
  }

  /** The type of the time of rows, or of the bounds of the windows that are their time. */
  protected def typeOf(time: Option[Time]): DataType = {
    val column = time.flatMap {
      case EventTime(column, _) => Some(column)
      case policy: TimePolicy => policy.timeColumn
      case ProcessingTime => None
    }
    column.map(columns(_).dataType) match {
      case Some(bounds: StructType) => bounds.head.dataType
      case Some(instant) => instant
      case None => TimestampType
    }
  }

  /** An argument that may be left out. NULL leaves it out too. */
  private def option(name: String): Option[Expression] = passed.get(name).filterNot(isNull)

  protected final def time: Option[ObjectNode] = {
    passed.get("time").foreach(e => places("time") = e.origin)
    (option("time"), option("policy"), option("delay")) match {
      case (Some(time: ValueCall), None, None) =>
        checkRole(time, "time", Seq("event_time", "processing_time", "time_policy"))
        if (time.function.kind == "processing_time" && !isStreaming)
          refuse("CLOCK_IN_BATCH", time.origin, "argument" -> "time")
        Some(value(time, "time"))
      case (_, Some(policy), Some(_)) =>
        refuse(
          "CONFLICT",
          policy.origin,
          "step" -> "policy",
          "other" -> "delay",
          "why" -> "the argument for the delay of the watermark of a policy is out_of_order")
      case (Some(time: ValueCall), _, _) =>
        refuse(
          "CONFLICT",
          time.origin,
          "step" -> time.prettyName,
          "other" -> "the options policy and delay",
          "why" -> "they say the same")
      case (column, Some(policy: ValueCall), None) =>
        checkRole(policy, "policy", Seq("time_policy"))
        column.foreach(checkTime("time", _))
        val ofRows =
          if (call.function.isWindow) Map("time" -> column.getOrElse(Literal(null)))
          else Map.empty[String, Expression]
        Some(value(policy, "time", ofRows))
      case (_, Some(other), None) => badType("policy", other, "transom_time_policy(...)")
      case (Some(column), None, delay) =>
        checkTime("time", column)
        val at = index(column)
        Some(
          MessageWriter.obj(
            "kind" -> "event_time",
            "time_column" -> at,
            "delay_us" -> delay.map(duration("delay", _))))
      case (None, None, delay) =>
        if (delay.isDefined || !Timeless(call.function.kind))
          refuse(
            "NO_CLOCK",
            call.origin,
            "argument" -> "window",
            "value" -> delay.fold(call.prettyName)(_ => "delay"),
            "fix" -> "Give the column that holds the time, as in transom_tumbling(departed, ...)")
        None
    }
  }

  protected final def lifetime: Option[ObjectNode] = option("lifetime").map(lifetimeOf)

  /** A lifetime, or the column with its end. */
  private def lifetimeOf(e: Expression): ObjectNode = e match {
    case life: ValueCall =>
      checkRole(life, "lifetime", Seq("lifetime"))
      value(life, "lifetime")
    case end =>
      places("lifetime") = end.origin
      checkTime("lifetime", end)
      MessageWriter.obj(
        "kind" -> "lifetime",
        "end_column" -> index(end),
        "duration_us" -> None,
        "duration_column" -> None,
        "id_columns" -> Nil,
        "timeout_us" -> None)
  }

  protected final def order: Seq[Int] = option("order").toSeq.flatMap(listed).map(index)

  /** The object of a value.
    *
    * @param path
    *   the path of the object in the message
    * @param elsewhere
    *   arguments that stand elsewhere in the query
    */
  protected final def value(
      of: ValueCall,
      path: String,
      elsewhere: Map[String, Expression] = Map.empty): ObjectNode = {
    val function = of.function
    places(path) = of.origin
    // The time and the options of a window are elsewhere in the message.
    val own = if (function.isWindow) function.parametersOfMember else function.parameters
    val arguments = if (of eq call) passed else bound(of, own, elsewhere)
    arguments.foreach { case (name, e) => checkType(function.kind, name, e) }
    MessageWriter.obj(
      ("kind" -> function.kind) +: own.flatMap(p => field(p, arguments.get(p.name), path)): _*)
  }

  /** The fields of the message for an argument. */
  protected final def field(
      parameter: Parameter,
      expression: Option[Expression],
      path: String = ""): Seq[(String, Any)] = {
    import parameter.{field => name}
    val place = if (path.isEmpty) name else s"$path.$name"
    expression.foreach(e => places(place) = e.origin)
    def default = parameter.default.get
    // An argument whose default is nothing may be NULL.
    val argument = expression.filterNot(e => isNull(e) && parameter.default.exists(_.isNull))
    parameter.form match {
      case "duration" =>
        val text = Option.when(argument.isEmpty && !default.isNull)(default.asText)
        val length = argument.map(duration(parameter.name, _))
        Seq(s"${name}_us" -> length.orElse(text.map(t => duration(name, Literal(t)))))
      case "column" | "delta" =>
        Seq(s"${name}_column" -> argument.filterNot(isNull).map(columnOf(parameter, _)))
      case "columns" =>
        Seq(s"${name}_columns" -> argument.toSeq.flatMap(listed).map(index))
      case "gap" =>
        val fixed = argument.filter(_.foldable).map(duration(parameter.name, _))
        val column = argument.filterNot(_.foldable).map { gap =>
          if (!gap.dataType.isInstanceOf[DayTimeIntervalType])
            badType(parameter.name, gap, "a duration, or a column of INTERVAL DAY TO SECOND")
          index(gap)
        }
        Seq(s"${name}_us" -> fixed, s"${name}_column" -> column)
      case "instant" => Seq(s"${name}_us" -> argument.map(instant(parameter.name, _)))
      case "windows" => Seq(name -> argument.toSeq.flatMap(members(place, _)))
      case "value" if parameter.orNull && argument.exists(isNull) => Seq(name -> None)
      case "value" =>
        Seq(name -> argument.fold[Any](default)(nested(parameter, _, place)))
      case _ => Seq(name -> argument.fold[Any](default)(constant(parameter, _)))
    }
  }

  private def columnOf(parameter: Parameter, e: Expression): Int = e match {
    case distance: Distance => index(distance)
    case other if parameter.form == "delta" =>
      badType(parameter.name, other, "a lambda function of two rows, as in (old, new) -> ...")
    case other: ValueCall => badType(parameter.name, other, "a column")
    case column => index(column)
  }

  private def nested(parameter: Parameter, e: Expression, path: String): ObjectNode = e match {
    case inner: ValueCall =>
      checkRole(inner, parameter.name, parameter.kinds)
      value(inner, path)
    case other =>
      parameter.forDuration match {
        case Some(kind) if isDuration(other) =>
          val shorthand =
            CurrentOrigin.withOrigin(other.origin)(ValueCall(functionOf(kind), Seq(other)))
          value(shorthand, path)
        case _ => badType(parameter.name, other, oneOf(parameter.kinds))
      }
  }

  /** The members of several windows: a map of ids and windows, or an array of windows. */
  private def members(path: String, e: Expression): Seq[ObjectNode] = {
    val windows = e match {
      case CreateMap(entries, _) =>
        entries.grouped(2).toSeq.map(entry => Some(text("windows", entry.head)) -> entry.last)
      case CreateArray(listed, _) => listed.map(None -> _)
      case other =>
        badType("windows", other, "map('hour', transom_tumbling('1 hour'), ...), or an array")
    }
    windows.zipWithIndex.map { case ((id, window), i) =>
      window match {
        case member: ValueCall if member.function.isWindow =>
          val at = s"$path[$i].window"
          MessageWriter.obj("id" -> id, "window" -> value(member, at))
        case other => badType("windows", other, "a window, such as transom_tumbling('1 hour')")
      }
    }
  }

  protected final def index(column: Expression): Int = {
    found += column
    found.length - 1
  }

  /** The error for a setting that the engine refuses. */
  protected final def refused(path: String, e: InvalidSpec): Throwable = {
    def isPrefix(place: String) = path.startsWith(place) &&
      (path.length == place.length || "._[".contains(path.charAt(place.length)))
    val origin = places.filter(p => isPrefix(p._1)).maxByOption(_._1.length)
    val argument = path.split('.').last.replaceAll("_(us|columns?)$", "")
    val parameters = Map("argument" -> argument) ++ e.parameters
    error(e.condition, origin.fold(call.origin)(_._2), parameters.toSeq: _*)
  }
}

/** The message of a window in `GROUP BY`.
  *
  * @param keys
  *   the other grouping columns
  * @param aggregates
  *   the aggregates
  * @param sideOutputs
  *   the arguments of `transom_side_outputs` around the query
  */
final class WindowMessage(
    window: ValueCall,
    keys: Seq[Expression],
    aggregates: Seq[Expression],
    isStreaming: Boolean,
    sideOutputs: Option[ValueCall] = None)
    extends SqlMessage(window, isStreaming) {
  import SqlMessage._

  /** The spec that the message describes. */
  lazy val spec: WindowSpec = SpecCodec.decode(message, refused)

  /** The type of the bounds of windows. */
  def timeType: DataType = typeOf(spec.time)

  // The columns have the same order as in Python.
  override protected def written: ObjectNode = {
    val fields = mutable.LinkedHashMap.empty[String, Any]
    fields += "version" -> Constants.MessageVersion
    fields += "key_columns" -> keys.map(index)
    fields += "time" -> time
    fields += "lifetime" -> lifetime
    fields += "order_columns" -> order
    fields += "window" -> value(window, "window")
    SqlFunctions.options
      .drop(OwnOptions)
      .foreach(parameter => fields ++= field(parameter, passed.get(parameter.name)))
    fields += "function" ->
      MessageWriter.obj("kind" -> "agg", "aggregate_columns" -> aggregates.map(index))
    val outputs = sideOutputs.fold(Map.empty[String, Expression])(call =>
      bound(call, call.function.parameters))
    SqlFunctions.sideOutputs.foreach(parameter =>
      fields ++= field(parameter, outputs.get(parameter.name)))
    MessageWriter.obj(fields.toSeq: _*)
  }
}

/** The message of `transom_stamped`. */
final class StampedMessage(call: ValueCall, isStreaming: Boolean)
    extends SqlMessage(call, isStreaming) {

  /** The spec that the message describes. */
  lazy val spec: StampSpec = SpecCodec.decodeStamped(message, refused)

  /** The type of the times of stamps. */
  def timeType: DataType = typeOf(Some(spec.policy))

  override protected def written: ObjectNode =
    MessageWriter.obj(
      "version" -> Constants.MessageVersion,
      "time" -> time,
      "lifetime" -> lifetime,
      "order_columns" -> order,
      "key_groups" -> SqlFunctions.keyGroups,
      "function" -> MessageWriter.obj("kind" -> "stamped"))
}

/** Reads arguments. */
object SqlMessage {

  /** The first options are read one by one: the time with its two options, lifetime and order. */
  private[sql] final val OwnOptions = 4

  private val Timeless = Set("count", "global")

  /** The arguments of a call by name. */
  private[sql] def bound(
      call: ValueCall,
      parameters: Seq[Parameter],
      elsewhere: Map[String, Expression] = Map.empty): Map[String, Expression] = {
    val named = call.arguments.collect { case NamedArgumentExpression(name, value) =>
      name -> placed(value, call)
    }
    val inOrder =
      call.arguments.filterNot(_.isInstanceOf[NamedArgumentExpression]).map(placed(_, call))
    val places = parameters.filterNot(p => p.byName || elsewhere.contains(p.name))
    inOrder.drop(places.length).headOption.foreach { extra =>
      misplaced(call, extra, s"argument ${inOrder.length}", parameters)
    }
    val byPlace = places.map(_.name).zip(inOrder).toMap
    val all = named.foldLeft(byPlace ++ elsewhere) { case (known, (key, value)) =>
      val name = parameters
        .map(_.name)
        .find(_.equalsIgnoreCase(key))
        .getOrElse(misplaced(call, value, s"argument $key", parameters))
      if (known.contains(name))
        refuse("SET_TWICE", value.origin, "argument" -> name, "call" -> known(name).sql)
      known + (name -> value)
    }
    parameters.find(p => p.default.isEmpty && !all.contains(p.name)).foreach { missing =>
      refuse(
        "MISSING_ARGUMENT",
        call.origin,
        "owner" -> call.prettyName,
        "argument" -> missing.name,
        "instead" -> exampleOf(call.function))
    }
    all
  }

  /** An argument that knows its place in the text. A column has the place of its definition, and
    * constants such as `true` have none, so they get the place of the call.
    */
  private def placed(argument: Expression, call: ValueCall): Expression =
    CurrentOrigin.withOrigin(call.origin) {
      argument match {
        case DistanceCall(inner) => inner
        case column: AttributeReference => column.copy()(column.exprId, column.qualifier)
        case constant: Literal if constant.origin.startIndex.isEmpty => constant.copy()
        case other => other
      }
    }

  private def misplaced(
      call: ValueCall,
      argument: Expression,
      name: String,
      parameters: Seq[Parameter]): Nothing =
    refuse(
      "MISPLACED",
      argument.origin,
      "owner" -> s"${call.prettyName}()",
      "name" -> name,
      "why" -> parameters.map(_.name).mkString("its arguments are ", ", ", ""),
      "instead" -> exampleOf(call.function))

  /** A call of the function that is right. */
  private[sql] def exampleOf(function: SqlFunction): String = {
    val from = function.example.indexOf(function.name)
    val depth = function.example.drop(from).scanLeft(0) {
      case (depth, '(') => depth + 1
      case (depth, ')') => depth - 1
      case (depth, _) => depth
    }
    val end = depth.indexOf(0, function.name.length + 1)
    function.example.substring(from, from + end)
  }

  private def functionOf(kind: String): SqlFunction =
    SqlFunctions.all.values.find(_.kind == kind).get

  private def oneOf(kinds: Seq[String]): String =
    kinds.map(kind => exampleOf(functionOf(kind))).take(3).mkString(", ")

  private def checkRole(call: ValueCall, argument: String, kinds: Seq[String]): Unit =
    if (!kinds.contains(call.function.kind)) badType(argument, call, oneOf(kinds))

  private def isNull(e: Expression): Boolean = e match {
    case Literal(null, _) => true
    case _ => false
  }

  /** The elements of an array or of a struct, or the column alone. */
  private def listed(e: Expression): Seq[Expression] = e match {
    case CreateArray(elements, _) => elements
    case struct: CreateNamedStruct => struct.valExprs
    case column => Seq(column)
  }

  private def checkTime(argument: String, column: Expression): Unit = {
    val fits = column.dataType match {
      case window: StructType => isWindow(window)
      case other => isInstant(other)
    }
    if (!fits)
      refuse(
        "NOT_A_TIMESTAMP",
        column.origin,
        "argument" -> argument,
        "column" -> column.sql,
        "type" -> column.dataType.simpleString)
  }

  /** Checks the columns of a value that the engine only knows by their indexes. */
  private def checkType(kind: String, parameter: String, e: Expression): Unit =
    (kind, parameter) match {
      case ("time_policy", "time" | "arrival") | ("event_time", "time") | ("punctuated", "at") |
          ("lifetime", "end") =>
        if (!isNull(e)) checkTime(parameter, e)
      case ("punctuated", "when") =>
        if (e.dataType != BooleanType)
          refuse(
            "NOT_A_CONDITION",
            e.origin,
            "argument" -> parameter,
            "expression" -> e.sql,
            "type" -> e.dataType.simpleString)
      case ("custom", "windows") =>
        e.dataType match {
          case ArrayType(bounds: StructType, _) if isWindow(bounds) =>
          case _ =>
            badType(parameter, e, "a column of ARRAY<STRUCT<start: TIMESTAMP, end: TIMESTAMP>>")
        }
      case _ =>
    }

  private def isInstant(kind: DataType) = kind == TimestampType || kind == TimestampNTZType

  private def isWindow(kind: StructType): Boolean =
    kind.names.sameElements(Seq("start", "end")) && isInstant(kind.head.dataType)

  private def isDuration(e: Expression): Boolean = e.foldable && (e.dataType match {
    case _: StringType | _: DayTimeIntervalType | _: YearMonthIntervalType |
        CalendarIntervalType =>
      true
    case _ => false
  })

  /** The microseconds of a constant duration: text, or an interval. */
  private def duration(argument: String, e: Expression): Long = {
    def bad(why: String) =
      refuse("BAD_DURATION", e.origin, "argument" -> argument, "value" -> e.sql, "why" -> why)
    def fixed(interval: CalendarInterval): Long =
      if (interval.months != 0)
        bad("a month has no fixed length; transom_calendar has such windows")
      else
        try Math.addExact(Math.multiplyExact(interval.days, PerDay), interval.microseconds)
        catch { case _: ArithmeticException => bad(s"it is longer than ${Durations.Longest}") }
    if (!isDuration(e)) badType(argument, e, "a constant such as '60 seconds' or INTERVAL 1 HOUR")
    val micros = evaluated(e) match {
      case null => badType(argument, e, "a constant such as '60 seconds'")
      case text: UTF8String =>
        fixed(
          Option(IntervalUtils.safeStringToInterval(text))
            .getOrElse(bad("Spark cannot read it as an interval")))
      case interval: CalendarInterval => fixed(interval)
      case micros: Long => micros
      case _ => bad("a month has no fixed length; transom_calendar has such windows")
    }
    if (micros.abs > Durations.LongestUs) bad(s"it is longer than ${Durations.Longest}")
    micros
  }

  private final val PerDay = 86400000000L

  private def instant(argument: String, e: Expression): Long = {
    if (!e.foldable || e.dataType != TimestampType)
      badType(argument, e, "a constant such as TIMESTAMP '2013-01-01 00:00:00'")
    evaluated(e) match {
      case micros: Long => micros
      case _ => badType(argument, e, "a constant such as TIMESTAMP '2013-01-01 00:00:00'")
    }
  }

  /** The value of a constant that is neither a duration nor an instant. */
  private[sql] def constant(parameter: Parameter, e: Expression): Any = {
    import parameter.name
    parameter.form match {
      case "choice" =>
        val chosen = text(name, e)
        if (!parameter.choices.contains(chosen))
          refuse(
            "BAD_CHOICE",
            e.origin,
            "argument" -> name,
            "value" -> s"'$chosen'",
            "choices" -> parameter.choices.mkString("one of '", "', '", "'"))
        chosen
      case "text" => text(name, e)
      case "texts" => listed(e).map(text(name, _)).distinct.sorted
      case "flag" =>
        known(e) match {
          case flag: Boolean => flag
          case _ => badType(name, e, "true or false")
        }
      case "whole" =>
        known(e) match {
          case number @ (_: Byte | _: Short | _: Int) => number.asInstanceOf[Number].intValue
          case number: Long =>
            refuse(
              "BAD_CHOICE",
              e.origin,
              "argument" -> name,
              "value" -> number.toString,
              "choices" -> s"a whole number of at most ${Int.MaxValue}")
          case _ => badType(name, e, "a whole number")
        }
      case "number" =>
        val number = known(e) match {
          case number: Decimal => number.toDouble
          case number: Number => number.doubleValue
          case _ => badType(name, e, "a number")
        }
        if (number.isNaN || number.isInfinite)
          refuse(
            "BAD_CHOICE",
            e.origin,
            "argument" -> name,
            "value" -> number.toString,
            "choices" -> "a finite number")
        number
    }
  }

  private def text(argument: String, e: Expression): String = known(e) match {
    case text: UTF8String => text.toString
    case _ => badType(argument, e, "a constant text")
  }

  private def known(e: Expression): Any = if (e.foldable) evaluated(e) else null

  private def evaluated(e: Expression): Any =
    e.transform { case replaceable: RuntimeReplaceable => replaceable.replacement }.eval()

  private[sql] def badType(argument: String, e: Expression, expected: String): Nothing =
    refuse(
      "BAD_TYPE",
      e.origin,
      "argument" -> argument,
      "value" -> e.sql,
      "type" -> e.dataType.simpleString,
      "expected" -> expected)

  def error(condition: String, origin: Origin, parameters: (String, String)*): TransomException =
    new TransomException(
      s"TRANSOM_$condition",
      parameters.toMap,
      place = origin.getQueryContext.headOption)

  def refuse(condition: String, origin: Origin, parameters: (String, String)*): Nothing =
    throw error(condition, origin, parameters: _*)

  /** The distance function with the columns that stand for its two rows. */
  def distanceOver(distance: Distance): Expression = {
    val LambdaFunction(body, Seq(older, newer), _) = distance.lambda: @unchecked
    val rows = Map(older.name -> Constants.OlderRow, newer.name -> Constants.NewerRow)
    body.transform { case variable: UnresolvedNamedLambdaVariable =>
      val parts = variable.nameParts
      UnresolvedAttribute(rows.getOrElse(parts.head, parts.head) +: parts.tail)
    }
  }
}
