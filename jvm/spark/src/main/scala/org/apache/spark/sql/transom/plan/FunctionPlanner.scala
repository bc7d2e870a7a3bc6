package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.catalyst.plans.logical.MapInArrow
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils}
import org.apache.spark.sql.types._

import transom.engine.setting.Constants

/** Builds the plans of Python functions behind a window operator.
  *
  * They are those of PySpark's own methods. But PySpark needs the schema of its input, which a
  * flow of a pipeline does not know.
  */
object FunctionPlanner {

  /** Calls a function with Arrow batches.
    *
    * @param input
    *   the rows that the function receives
    * @param function
    *   the function. Its type is the schema of its results. A field with the metadata
    *   `Constants.ColumnOf` stands for the column of the window operator with its name, or for
    *   all keys if its name is `Constants.CallKeyPrefix`.
    */
  def mapInArrow(input: Dataset[Row], function: Column): Dataset[Row] = {
    val rows = input.queryExecution.analyzed
    // A function with state is between the operator and the function that unpacks its results.
    val operator = rows.find(_.output.exists(_.name == "window")).get.schema
    val udf = udfOf(function)
    val schema = filled(resultsOf(udf), operator)
    val output = DataTypeUtils.toAttributes(schema)
    // Spark prunes columns that the function does not name.
    val called = udf.copy(dataType = schema, children = rows.output)
    Dataset.ofRows(
      input.sparkSession,
      MapInArrow(called, output, rows, isBarrier = false, profile = None))
  }

  /** Calls a function with the rows of each group and their state.
    *
    * @param columns
    *   the function, and the columns of a group
    */
  def transformWithState(input: Dataset[Row], columns: Seq[Column]): Dataset[Row] =
    input
      .groupBy(columns.tail: _*)
      .transformWithStateInPySpark(
        columns.head,
        resultsOf(udfOf(columns.head)),
        outputModeStr = "Append",
        timeModeStr = "None",
        initialState = null,
        eventTimeColumnName = "")

  private def udfOf(function: Column): PythonUDF =
    ExpressionUtils.expression(function).asInstanceOf[PythonUDF]

  private def resultsOf(udf: PythonUDF): StructType = udf.dataType.asInstanceOf[StructType]

  private def filled(fields: StructType, operator: StructType): StructType = {
    val keyPrefix = Constants.CallKeyPrefix
    def columns(name: String): Seq[StructField] =
      operator
        .filter(c => c.name == name || name == keyPrefix && c.name.startsWith(keyPrefix))
        .map(c => c.copy(name = c.name.stripPrefix(keyPrefix)))
    StructType(fields.flatMap { field =>
      field.dataType match {
        case kind: StructType => Seq(field.copy(dataType = filled(kind, operator)))
        case _ if field.metadata.contains(Constants.ColumnOf) => columns(field.name)
        case _ => Seq(field)
      }
    })
  }
}
