package org.apache.spark.sql.transom

/** The running batch: its watermarks, its clock, and the real-time trigger.
  *
  * Spark passes a plan no watermark of the batch before, and no watermark of another operator.
  * These objects find both: from the running query on the driver, and from the operator in the
  * same task.
  */
package object batch
