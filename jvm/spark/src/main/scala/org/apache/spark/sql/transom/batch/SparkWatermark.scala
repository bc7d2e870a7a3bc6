package org.apache.spark.sql.transom.batch

import transom.engine.time.Watermark

/** Converts Spark's watermarks to the engine's. */
object SparkWatermark {

  /** Converts a watermark of Spark.
    *
    * Spark's watermark starts at 0 and only rises. A watermark of 0 therefore means "no watermark
    * yet", even if all rows are older than 1970.
    *
    * @param ms
    *   milliseconds since 1970
    * @return
    *   microseconds since 1970, or `Watermark.NotYet`
    */
  def toMicros(ms: Long): Long = if (ms <= 0L) Watermark.NotYet else ms * 1000L
}
