package transom.spark

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.transom.{Explain, WindowPlanner}

/** All that Python calls: one message goes in beside the columns it names by index, a DataFrame
  * comes out.
  */
object PythonApi {

  def apply(df: Dataset[Row], spec: String, columns: util.List[Column]): DataFrame =
    WindowPlanner.plan(df, SpecCodec.decode(spec), columns.asScala.toSeq)

  /** What the window operators of a DataFrame do: as "text" for people, as "json" the way it is
    * stored.
    */
  def explain(df: Dataset[Row], mode: String): String =
    if (mode == "json") Explain.json(df) else Explain.text(df)

  /** The version of the jar. */
  def version(): String = BuildInfo.version
}
