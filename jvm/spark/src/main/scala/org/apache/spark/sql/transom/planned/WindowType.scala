package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.types.{DataType, StructField, StructType}

/** The type of windows in output columns. */
object WindowType {

  /** A struct of start and end.
    *
    * @param time
    *   the type of both bounds
    * @param mayBeNull
    *   whether a window may have no bounds
    */
  def of(time: DataType, mayBeNull: Boolean = true): StructType =
    StructType(Seq(StructField("start", time, mayBeNull), StructField("end", time, mayBeNull)))
}
