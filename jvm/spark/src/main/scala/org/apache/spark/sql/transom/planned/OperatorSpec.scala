package org.apache.spark.sql.transom.planned

import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.sql.catalyst.expressions.Attribute

import transom.engine.setting.Constants

/** The spec of one window operator, as the checkpoint stores it and `explain` shows it.
  *
  * @param name
  *   unique in its query plan, and the same each time the plan is built
  * @param record
  *   JSON with the operator's name, the transom version, the state layout, the message as sent,
  *   and a description of each column that the message names
  * @param columns
  *   SQL and type of each of these columns
  */
final case class OperatorSpec(name: String, record: String, columns: Seq[String]) {
  def json: ObjectNode = OperatorSpec.read(record)

  /** The spec in Real-Time Mode. The state of such a run is not that of micro-batches, whose
    * windows follow another watermark.
    */
  def inRealTime: OperatorSpec = {
    val whole = json
    whole.put("real_time", true)
    copy(record = OperatorSpec.pretty(whole))
  }

  /** The name of the watermark that the lifetimes of results have. No operator has such a name.
    */
  def lifetimes: String = s"$name/lifetime"

  /** The name of the watermark of the operator's time stage. No operator has such a name. */
  def timeStage: String = s"$name/time stage"

  // Spark prints this text with each node of a plan.
  override def toString: String = name
}

/** Reads and writes the JSON of specs. */
object OperatorSpec {
  // A file must end where its value ends.
  private val mapper = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

  def read(record: String): ObjectNode = mapper.readTree(record).asInstanceOf[ObjectNode]

  /** Whether the Python package added the column. */
  def isHidden(column: Attribute): Boolean = column.name.startsWith(Constants.HiddenPrefix)

  def pretty(node: JsonNode): String =
    mapper.writerWithDefaultPrettyPrinter.writeValueAsString(node)

  def array(nodes: Seq[JsonNode]): ArrayNode =
    nodes.foldLeft(mapper.createArrayNode())((list, node) => list.add(node))
}
