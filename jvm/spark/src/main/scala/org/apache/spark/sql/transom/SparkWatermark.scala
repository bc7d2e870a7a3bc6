package org.apache.spark.sql.transom

import transom.engine.Watermark

/** Conversion of Spark's watermarks into the engine's. */
object SparkWatermark {

  /** Spark's watermark starts at 0 and rises only. So 0 stands for "no watermark yet", also while
    * all rows lie before 1970.
    *
    * @param ms
    *   milliseconds since 1970
    * @return
    *   microseconds since 1970, or `Watermark.NotYet`
    */
  def toMicros(ms: Long): Long = if (ms <= 0L) Watermark.NotYet else ms * 1000L
}
