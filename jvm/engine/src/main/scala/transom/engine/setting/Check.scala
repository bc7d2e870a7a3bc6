package transom.engine.setting

import java.time.DateTimeException

import transom.engine.time.Zone

/** Validates settings, and throws [[InvalidSpec]] with the name of the field. */
private[engine] object Check {

  def that(field: String, holds: Boolean, problem: => String): Unit =
    if (!holds) throw new InvalidSpec(field, problem)

  def positive(field: String, value: Long): Unit =
    that(field, value > 0, s"must be positive, but is $value")

  def notNegative(field: String, value: Long): Unit =
    that(field, value >= 0, s"must not be negative, but is $value")

  def offset(offset: Long, period: Long): Unit =
    that(
      "offset_us",
      -period < offset && offset < period,
      s"must be smaller than $period either way, but is $offset")

  def windowsPerRow(field: String, size: Long, step: Long): Unit =
    that(
      field,
      (size - 1) / step < Constants.MostWindowsPerRow,
      s"puts each row into more than ${Constants.MostWindowsPerRow} windows")

  def zone(name: String): Unit =
    try Zone.of(name)
    catch {
      case e: DateTimeException =>
        throw new InvalidSpec("time_zone", s"names no known time zone: ${e.getMessage}")
    }
}
