package org.apache.spark.sql.transom

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.internal.SQLConf

/** The Spark session of all suites. It ends with the JVM of the tests. */
object TestSession {
  lazy val spark: SparkSession = SparkSession
    .builder()
    .master("local[2]")
    .appName("transom tests")
    .config("spark.ui.enabled", "false")
    .config(SQLConf.SESSION_LOCAL_TIMEZONE.key, "UTC")
    .config(SQLConf.SHUFFLE_PARTITIONS.key, "1")
    .config(SQLConf.STATE_STORE_PROVIDER_CLASS.key, classOf[RocksDBStateStoreProvider].getName)
    .getOrCreate()
}
