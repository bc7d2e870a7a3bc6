package org.apache.spark.sql.transom

/** Reads the message that Python sends into a spec, and writes a spec back for the checkpoint.
  *
  * Each kind of a message is read in one place, and an unknown field or kind is an error.
  */
package object message
