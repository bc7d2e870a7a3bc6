package org.apache.spark.sql.transom.plan

import scala.jdk.CollectionConverters._

import munit.{FunSuite, Location}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.transom.TestSession
import org.apache.spark.sql.types._

/** Plans windows over a DataFrame without rows. */
abstract class PlanTest extends FunSuite {

  protected val columns: Seq[Attribute] = Seq(
    AttributeReference("region", StringType)(),
    AttributeReference("time", TimestampType)(),
    AttributeReference("n", IntegerType)(),
    AttributeReference("name", StringType)(),
    AttributeReference("folded", StringType("UTF8_LCASE"))(),
    // The Python package adds such columns.
    AttributeReference("__transom_added", LongType)())

  protected def dataFrame(
      isStreaming: Boolean = false,
      columns: Seq[Attribute] = columns): Dataset[Row] =
    Dataset.ofRows(TestSession.spark, LocalRelation(columns, Nil, isStreaming = isStreaming))

  protected lazy val static: Dataset[Row] = dataFrame()

  /** The condition and the parameters of an error. */
  protected def errorOf(body: => Any)(implicit at: Location): (String, Map[String, String]) = {
    intercept[Exception](body) match {
      case error: SparkThrowable => (error.getCondition, error.getMessageParameters.asScala.toMap)
      case error => throw error
    }
  }
}
