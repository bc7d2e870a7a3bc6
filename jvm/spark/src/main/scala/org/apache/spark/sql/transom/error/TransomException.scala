package org.apache.spark.sql.transom.error

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.{ErrorClassesJsonReader, QueryContext, SparkThrowable}

/** An error of transom, with an error condition and parameters. The class extends
  * `IllegalArgumentException`, so PySpark raises its own exception class with `getCondition()`.
  * The texts are in `spec/error-conditions.json`, which Python uses too.
  *
  * @param place
  *   the place in the text of a query, if it is known. It is in the message only: PySpark looks
  *   up the text of an exception with a query context in Spark's own list of conditions, and
  *   fails.
  */
final class TransomException(
    condition: String,
    parameters: Map[String, String],
    cause: Throwable = null,
    place: Option[QueryContext] = None)
    extends IllegalArgumentException(TransomException.text(condition, parameters, place), cause)
    with SparkThrowable {

  override def getCondition: String = condition
  override def getMessageParameters: util.Map[String, String] = parameters.asJava
  override def getSqlState: String = TransomException.texts.getSqlState(condition)
  override def getQueryContext: Array[QueryContext] = Array.empty
}

/** Reads the texts of error conditions. */
object TransomException {
  private lazy val texts = new ErrorClassesJsonReader(
    Seq(getClass.getClassLoader.getResource("transom/error-conditions.json")))

  private def text(
      condition: String,
      parameters: Map[String, String],
      place: Option[QueryContext]): String = {
    // Some texts do not name the argument. With SPARK_TESTING set, Spark refuses what they lack.
    val template = texts.getMessageTemplate(condition)
    val inText = parameters.filter { case (name, _) => template.contains(s"<$name>") }
    s"[$condition] ${texts.getErrorMessage(condition, inText)}" +
      place.fold("")(at => s"\n${at.summary}")
  }
}
