package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.types.{DataType, StructField, StructType}

/** The type of windows in output columns. */
object WindowType {

  /** A struct of start and end.
    *
    * @param time
    *   the type of both bounds
    */
  def of(time: DataType): StructType =
    StructType(Seq(StructField("start", time), StructField("end", time)))
}
