// Windows of Spark's JVM client, which has no transom. Its argument is the server.

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.functions.{call_function, col, date_format, lit}
import org.apache.spark.sql.streaming.Trigger

val flights =
  """
  CREATE TABLE flights USING parquet AS
  SELECT origin, to_timestamp(at) AS departed, delay
  FROM VALUES ('JFK', '2013-01-01 05:44', -1), ('LGA', '2013-01-01 05:54', -6),
              ('JFK', '2013-01-01 06:11', 11), ('JFK', '2013-01-01 06:50', 30),
              ('JFK', '2013-01-01 07:30', 4)
       AS t(origin, at, delay)
  """

def hours(rows: String): String =
  s"""
  SELECT origin, date_format(window.start, 'HH:mm') AS start, count(*) AS n, sum(delay) AS delay
  FROM $rows GROUP BY origin, transom_tumbling(departed, '1 hour', delay => '10 minutes')
  """

/** Prints the rows in order, on one line. */
def show(rows: DataFrame): Unit =
  println(rows.collect().map(_.toString).sorted.mkString("[", ", ", "]"))

val spark = SparkSession.builder().remote(args(0)).getOrCreate()
spark.sql(flights)
show(spark.sql(hours("flights")))

val live = spark.sql(hours("STREAM flights")).writeStream.format("memory").queryName("hours")
live.trigger(Trigger.AvailableNow()).start().awaitTermination()
show(spark.table("hours"))

val session = call_function("transom_session", col("departed"), lit("30 minutes"))
val sessions = spark.table("flights").groupBy(col("origin"), session.as("window")).count()
show(sessions.select(col("origin"), date_format(col("window.end"), "HH:mm"), col("count")))
spark.close()
