package org.apache.spark.sql.transom

/** Expressions and aggregates that Spark lacks: `reduce`, `top`, DISTINCT that can be merged, the
  * parts of a Python aggregate, and expressions that are null where they fail.
  */
package object function
