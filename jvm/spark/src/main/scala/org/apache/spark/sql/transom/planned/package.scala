package org.apache.spark.sql.transom

/** What the tasks of an operator need to know, sent from the driver: spec, layout, expressions,
  * columns.
  *
  * A plan is complete: a task asks nothing of the driver. Its columns are attributes, and each
  * task binds them to its own rows.
  */
package object planned
