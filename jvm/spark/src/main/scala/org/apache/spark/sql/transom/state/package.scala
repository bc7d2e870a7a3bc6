package org.apache.spark.sql.transom

/** The state of a key group in Spark's state store, and the one timer that Spark holds for it.
  *
  * The engine names the variables and encodes keys and values. Spark holds only one timer for a
  * key group, the earliest: the others are in the state of the group, where a key costs no timer.
  */
package object state
