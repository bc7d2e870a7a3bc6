package transom.spark

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.transom.batch.LateWatermark
import org.apache.spark.sql.transom.message.SpecCodec
import org.apache.spark.sql.transom.explain.Explain
import org.apache.spark.sql.transom.plan.{BuildInfo, FunctionPlanner, StampedPlanner, WindowPlanner}

/** Entry points that the Python package calls. */
object PythonApi {

  /** Adds a window operator to a DataFrame.
    *
    * @param spec
    *   the message, see [[SpecCodec]]
    * @param columns
    *   the columns to which the message refers by index
    */
  def apply(df: Dataset[Row], spec: String, columns: util.List[Column]): Dataset[Row] =
    WindowPlanner.plan(df, SpecCodec.decode(spec), columns.asScala.toSeq)

  /** Adds a time stage without windows to a DataFrame.
    *
    * @param spec
    *   the message of the stage
    * @param columns
    *   the columns to which the message refers by index
    */
  def stamp(df: Dataset[Row], spec: String, columns: util.List[Column]): Dataset[Row] =
    StampedPlanner.plan(df, SpecCodec.decodeStamped(spec), columns.asScala.toSeq)

  /** Adds a Python function over Arrow batches behind a window operator.
    *
    * @param columns
    *   the function
    */
  def mapInArrow(df: Dataset[Row], message: String, columns: util.List[Column]): Dataset[Row] =
    FunctionPlanner.mapInArrow(df, columns.get(0))

  /** Adds a Python function with state behind a window operator.
    *
    * @param columns
    *   the function, and the columns of a group
    */
  def transformWithState(
      df: Dataset[Row],
      message: String,
      columns: util.List[Column]): Dataset[Row] =
    FunctionPlanner.transformWithState(df, columns.asScala.toSeq)

  /** Describes the window operators of a DataFrame. */
  def explain(df: Dataset[Row], mode: String): String =
    Explain.of(df, mode)

  /** Identifies the batch of the streaming query that runs on the current thread. A repeated
    * batch has the same text, because Spark stores its timestamp with its offsets. Null without a
    * query.
    */
  def batch(df: Dataset[Row]): String =
    LateWatermark
      .runningBatch(df.sparkSession)
      .map { batch =>
        val query = LateWatermark.queryId(df.sparkSession).get
        s"$query ${batch.currentBatchId} ${batch.offsetSeqMetadata.batchTimestampMs}"
      }
      .orNull

  /** The version of the jar. */
  def version(): String = BuildInfo.version
}
