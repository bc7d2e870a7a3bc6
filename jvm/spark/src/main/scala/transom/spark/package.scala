package transom

/** The classes that settings of Spark and the Python package name, so these classes keep their
  * names. All that they do is in the packages below `org.apache.spark.sql.transom`, which use
  * members that are private to Spark.
  */
package object spark
