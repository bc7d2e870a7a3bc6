package org.apache.spark.sql.transom.error

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.{ErrorClassesJsonReader, QueryContext, SparkThrowable}

/** An error of transom, with an error condition and parameters. The class extends
  * `IllegalArgumentException`, so PySpark raises its own exception class with `getCondition()`.
  * The texts are in `spec/error-conditions.json`, which Python uses too.
  */
final class TransomException(
    condition: String,
    parameters: Map[String, String],
    cause: Throwable = null)
    extends IllegalArgumentException(TransomException.text(condition, parameters), cause)
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

  private def text(condition: String, parameters: Map[String, String]): String =
    s"[$condition] ${texts.getErrorMessage(condition, parameters)}"
}
