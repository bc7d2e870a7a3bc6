package org.apache.spark.sql.transom

/** The errors of the JVM side. Their texts are in `error-conditions.json`, which Python reads
  * too.
  */
package object error
