package org.apache.spark.sql.transom

/** What a window operator does, as text for `explain()`. */
package object explain
