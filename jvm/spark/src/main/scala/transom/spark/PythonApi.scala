package transom.spark

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.transom.WindowPlanner

/** All that Python calls: one message goes in beside the columns it names by index, a DataFrame comes out. */
object PythonApi {

  def apply(df: Dataset[Row], spec: String, columns: util.List[Column]): DataFrame =
    WindowPlanner.plan(df, SpecCodec.decode(spec), columns.asScala.toSeq)

  /** The version of the jar. */
  def version(): String = BuildInfo.version
}
