package org.apache.spark.sql.transom.message

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.transom.error.TransomException

import transom.engine.setting.{Durations, InvalidSpec}

/** Reads one object of the message. Every field must be read, and no other field may be present.
  *
  * @param path
  *   the path of the object in the message, empty for the message itself
  * @param refusal
  *   the error for a setting that the engine refuses, with the path of its field
  */
private[message] final class MessageObject(
    node: JsonNode,
    path: String,
    refusal: (String, InvalidSpec) => Throwable) {

  if (!node.isObject)
    throw MessageObject.bad(if (path.isEmpty) "message" else path, "it is not an object")

  private var readNames = Set.empty[String]

  /** Applies `read` to this object. Throws if the object has a field that `read` has not read. */
  def readAll[T](read: MessageObject => T): T = {
    val result =
      try read(this)
      catch { case e: InvalidSpec => throw refusal(pathOf(e.field), e) }
    node.fieldNames.asScala.find(!readNames(_)).foreach { name =>
      throw bad(name, "this version does not know this field")
    }
    result
  }

  def kind: String = text("kind")

  def unknownKind: TransomException = bad("kind", s"this version does not know $kind")

  def obj(name: String): MessageObject = new MessageObject(value(name), pathOf(name), refusal)

  def optional[T](name: String)(read: String => T): Option[T] =
    if (value(name).isNull) None else Some(read(name))

  def text(name: String): String = as(name, "a string", _.isTextual)(_.asText)

  /** An object that the JVM does not interpret, as JSON. */
  def json(name: String): String = as(name, "an object", _.isObject)(_.toString)

  /** A duration in microseconds. */
  def duration(name: String): Long =
    as(name, s"an integer of at most ${Durations.Longest}", isDuration)(_.asLong)

  /** An instant in microseconds since 1970. */
  def instant(name: String): Long = as(name, "a 64-bit integer", isLong)(_.asLong)

  def int(name: String): Int = as(name, "a 32-bit integer", isInt)(_.asInt)

  def double(name: String): Double = as(name, "a number", _.isNumber)(_.asDouble)

  def boolean(name: String): Boolean = as(name, "true or false", _.isBoolean)(_.asBoolean)

  def column(name: String): Int = as(name, "the index of a column", isColumn)(_.asInt)

  def columns(name: String): Seq[Int] = list(name, "column indexes", isColumn).map(_.asInt)

  def texts(name: String): Seq[String] = list(name, "strings", _.isTextual).map(_.asText)

  def objects(name: String): Seq[MessageObject] =
    list(name, "objects", _.isObject).zipWithIndex.map { case (element, i) =>
      new MessageObject(element, s"${pathOf(name)}[$i]", refusal)
    }

  def choice[T](name: String, names: Seq[(String, T)]): T = {
    val chosen = text(name)
    names.find(_._1 == chosen).map(_._2).getOrElse {
      throw bad(name, s"it is $chosen, not one of ${names.map(_._1).mkString(", ")}")
    }
  }

  private def isInt(v: JsonNode): Boolean = v.isIntegralNumber && v.canConvertToInt

  private def isLong(v: JsonNode): Boolean = v.isIntegralNumber && v.canConvertToLong

  private def isDuration(v: JsonNode): Boolean =
    isLong(v) && v.asLong >= -Durations.LongestUs && v.asLong <= Durations.LongestUs

  private def isColumn(v: JsonNode): Boolean = isInt(v) && v.asInt >= 0

  private def value(name: String): JsonNode = {
    readNames += name
    Option(node.get(name)).getOrElse(throw bad(name, "it is missing"))
  }

  private def as[T](name: String, typeName: String, fits: JsonNode => Boolean)(
      read: JsonNode => T): T = {
    val found = value(name)
    if (fits(found)) read(found) else throw bad(name, s"it is not $typeName")
  }

  private def list(name: String, typeName: String, fits: JsonNode => Boolean): Seq[JsonNode] =
    as(name, s"a list of $typeName", v => v.isArray && v.elements.asScala.forall(fits))(
      _.elements.asScala.toSeq)

  private def pathOf(name: String): String = if (path.isEmpty) name else s"$path.$name"

  private def bad(name: String, problem: String): TransomException =
    MessageObject.bad(pathOf(name), problem)
}

/** Creates the error for an invalid field of the message. */
private[message] object MessageObject {

  def bad(field: String, problem: String): TransomException =
    new TransomException("TRANSOM_BAD_SPEC", Map("field" -> field, "problem" -> problem))
}
