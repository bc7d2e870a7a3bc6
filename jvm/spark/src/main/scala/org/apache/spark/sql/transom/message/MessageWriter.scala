package org.apache.spark.sql.transom.message

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

/** Builds objects of the message. */
private[transom] object MessageWriter {

  private val mapper = new ObjectMapper()

  def obj(fields: (String, Any)*): ObjectNode = {
    val written = mapper.createObjectNode()
    fields.foreach { case (name, value) => written.set[JsonNode](name, json(value)) }
    written
  }

  /** The name that `MessageObject.choice` reads as this value. */
  def nameOf[T](value: T, names: Seq[(String, T)]): String =
    names.find(_._2 == value).get._1

  private def json(value: Any): JsonNode = value match {
    case None => mapper.nullNode
    case node: JsonNode => node
    case Some(inner) => json(inner)
    case columns: Seq[_] =>
      columns.foldLeft(mapper.createArrayNode())((list, column) => list.add(json(column)))
    case other => mapper.valueToTree[JsonNode](other)
  }
}
