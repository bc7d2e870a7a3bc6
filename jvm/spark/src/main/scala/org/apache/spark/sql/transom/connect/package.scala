package org.apache.spark.sql.transom

/** Calls of the Python package over Spark Connect, resolved on the server. */
package object connect
