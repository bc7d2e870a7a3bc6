package transom.engine.setting

import java.time.DateTimeException
import java.util.Locale

import transom.engine.time.Zone

/** Validates settings, and throws [[InvalidSpec]] with the name of the field. */
private[engine] object Check {

  def that(
      field: String,
      holds: Boolean,
      problem: => String,
      condition: String,
      parameters: (String, String)*): Unit =
    if (!holds) throw new InvalidSpec(field, problem, condition, parameters.toMap)

  def positive(field: String, count: Int): Unit =
    isPositive(field, count, count.toString, "1 or more")

  /** Checks a duration in microseconds. */
  def positive(field: String, duration: Long): Unit =
    isPositive(field, duration, Durations.text(duration), "a duration such as '1 minute'")

  private def isPositive(field: String, value: Long, text: String, instead: String): Unit =
    that(
      field,
      value > 0,
      s"must be positive, but is $value",
      "NOT_POSITIVE",
      "value" -> text,
      "instead" -> instead)

  def notNegative(field: String, count: Int): Unit =
    isNotNegative(field, count, count.toString, "0 or more")

  /** Checks a duration in microseconds. */
  def notNegative(field: String, duration: Long): Unit =
    isNotNegative(field, duration, Durations.text(duration), "'0 seconds' or more")

  private def isNotNegative(field: String, value: Long, text: String, instead: String): Unit =
    that(
      field,
      value >= 0,
      s"must not be negative, but is $value",
      "NEGATIVE",
      "value" -> text,
      "instead" -> instead)

  /** Checks an offset against a period, both in microseconds.
    *
    * @param repeats
    *   whether the windows are the same after each period. If not, it is their shortest length
    */
  def offset(offset: Long, period: Long, repeats: Boolean = true): Unit =
    that(
      "offset_us",
      -period < offset && offset < period,
      s"must be smaller than $period either way, but is $offset",
      "OFFSET_TOO_LARGE",
      "value" -> Durations.text(offset),
      "period" -> Durations.text(period),
      "why" -> (if (repeats) "after which the windows repeat"
                else "the shortest of these windows"),
      "instead" -> (if (repeats)
                      s"the remainder after division by ${Durations.text(period)}"
                    else "a shorter offset"))

  /** Checks in how many windows a row may be.
    *
    * @param stepText
    *   the step as users write it
    */
  def windowsPerRow(field: String, size: Long, step: Long, stepText: String): Unit = {
    val windows = (size - 1) / step + 1
    that(
      field,
      windows <= Constants.MostWindowsPerRow,
      s"puts each row into more than ${Constants.MostWindowsPerRow} windows",
      "TOO_MANY_WINDOWS",
      "value" -> stepText,
      "windows" -> number(windows),
      "most" -> number(Constants.MostWindowsPerRow))
  }

  private def number(count: Long): String = String.format(Locale.ROOT, "%,d", count)

  def zone(name: String): Unit =
    try Zone.of(name)
    catch {
      case e: DateTimeException =>
        throw new InvalidSpec(
          "time_zone",
          s"names no known time zone: ${e.getMessage}",
          "UNKNOWN_TIME_ZONE",
          Map("value" -> s"'$name'"))
    }
}
