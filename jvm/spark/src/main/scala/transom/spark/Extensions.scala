package transom.spark

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.transom.connect.ResolveCalls
import org.apache.spark.sql.transom.sql.{CheckWindows, ReadTables, ReplaceWindows, ResolveWindows, SqlFunctions}

/** The value of `spark.sql.extensions` with which a session has windows in SQL, and a Spark
  * Connect server runs the calls of the Python package.
  */
final class Extensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectResolutionRule { session =>
      new ResolveCalls(session.asInstanceOf[SparkSession])
    }
    // Hints are resolved before anything else.
    extensions.injectHintResolutionRule(_ => ReadTables)
    extensions.injectResolutionRule { session =>
      new ResolveWindows(session.asInstanceOf[SparkSession])
    }
    extensions.injectPostHocResolutionRule { session =>
      new ReplaceWindows(session.asInstanceOf[SparkSession])
    }
    extensions.injectCheckRule(_ => CheckWindows)
    SqlFunctions.inject(extensions)
  }
}
