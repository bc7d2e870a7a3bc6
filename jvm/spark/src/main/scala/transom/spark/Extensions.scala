package transom.spark

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.transom.connect.ResolveCalls

/** The value of `spark.sql.extensions` with which a Spark Connect server runs windows. */
final class Extensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectResolutionRule { session =>
      new ResolveCalls(session.asInstanceOf[SparkSession])
    }
}
