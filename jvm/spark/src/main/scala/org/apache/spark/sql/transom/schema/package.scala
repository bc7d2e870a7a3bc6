package org.apache.spark.sql.transom

/** The schemas of all rows in the state, and how a row of an older schema is read.
  *
  * A state may hold rows that an earlier run has written with other columns. A number in front of
  * each row names its schema. A row is read by name, so new columns are null and removed ones are
  * dropped. Bytes are never read without the schema that wrote them.
  */
package object schema
