import static org.apache.spark.sql.functions.call_function;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.date_format;
import static org.apache.spark.sql.functions.lit;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.Trigger;

/** Windows of Spark's JVM client, which has no transom. Its argument is the server. */
final class Client {
  private static final String FLIGHTS =
      """
      CREATE TABLE flights USING parquet AS
      SELECT origin, to_timestamp(at) AS departed, delay
      FROM VALUES ('JFK', '2013-01-01 05:44', -1), ('LGA', '2013-01-01 05:54', -6),
                  ('JFK', '2013-01-01 06:11', 11), ('JFK', '2013-01-01 06:50', 30),
                  ('JFK', '2013-01-01 07:30', 4)
           AS t(origin, at, delay)
      """;
  private static final String HOURS =
      """
      SELECT origin, date_format(window.start, 'HH:mm') AS start, count(*) AS n, sum(delay) AS delay
      FROM %s GROUP BY origin, transom_tumbling(departed, '1 hour', delay => '10 minutes')
      """;

  public static void main(String[] arguments) throws Exception {
    SparkSession spark = SparkSession.builder().remote(arguments[0]).getOrCreate();
    spark.sql(FLIGHTS);
    show(spark.sql(HOURS.formatted("flights")));

    spark
        .sql(HOURS.formatted("STREAM flights"))
        .writeStream()
        .format("memory")
        .queryName("hours")
        .trigger(Trigger.AvailableNow())
        .start()
        .awaitTermination();
    show(spark.table("hours"));

    Column session = call_function("transom_session", col("departed"), lit("30 minutes"));
    Dataset<Row> sessions =
        spark.table("flights").groupBy(col("origin"), session.as("window")).count();
    show(sessions.select(col("origin"), date_format(col("window.end"), "HH:mm"), col("count")));
    spark.close();
  }

  /** Prints the rows in order, on one line. */
  private static void show(Dataset<Row> rows) {
    Object[] sorted = rows.collectAsList().stream().map(Row::toString).sorted().toArray();
    System.out.println(java.util.Arrays.toString(sorted));
  }
}
