package org.apache.spark.sql.transom.explain

import java.util.Locale

import transom.engine.firing.Trigger
import transom.engine.setting.Durations
import transom.engine.window.{Closed, DynamicSession, LateStart, MaxCheck, Stagger, Windows}

/** Describes parts of a spec for people: the kind of the part, then the fields that differ from
  * their defaults.
  *
  * @param column
  *   the text of a column of the message, by index
  */
final class SpecText(column: Int => String) {

  def of(part: Product): String = part match {
    case Windows(members) =>
      members
        .map(member => s"${member.id.fold("")(_ + ": ")}${of(member.window)}")
        .mkString("; ")
    case _ => fieldsOf(part)
  }

  private def fieldsOf(part: Product): String = {
    val fields = part.productElementNames.zip(part.productIterator).flatMap {
      case (name, value: Option[_]) => value.flatMap(field(name, _))
      case (name, value) => field(name, value)
    }
    (Iterator.single(kind(part)) ++ fields).mkString(", ")
  }

  private def field(name: String, value: Any): Option[String] = (name, value) match {
    case ("offsetUs", 0L) | (_, Closed.Left) | (_, Stagger.Aligned) => None
    case (_, LateStart.Open) | (_, MaxCheck.AtLeast) => None
    case (_, micros: Long) if name.endsWith("Us") =>
      Some(s"${words(name.stripSuffix("Us"))} ${Durations.text(micros)}")
    case (_, index: Int) if name.endsWith("Column") =>
      Some(s"${words(name.stripSuffix("Column"))} ${column(index)}")
    case (_, part: Trigger) => Some(s"${words(name)} ${of(part)}")
    case (_, text: String) => Some(s"${words(name)} $text")
    case (_, other) => Some(s"${words(name)} ${words(other.toString)}")
  }

  private def kind(part: Product): String = part match {
    // A session with a gap for each row is a Session in Python.
    case _: DynamicSession => "session"
    case other => words(other.productPrefix)
  }

  private def words(name: String): String =
    name.replaceAll("([a-z])([A-Z])", "$1 $2").toLowerCase(Locale.ROOT)
}
