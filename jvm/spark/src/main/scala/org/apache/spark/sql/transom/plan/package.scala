package org.apache.spark.sql.transom

/** Builds the plan of an operator from the message and the columns of the user.
  *
  * {{{
  * message, columns ──► AnalyzedColumns ──► Aggregation ──► OperatorPlans ──► OperatorOutput
  *                       Spark's analyzer    accumulators    nodes            columns of the result
  * }}}
  *
  * Spark analyzes the user's expressions first, as if they were aggregates over the input. So
  * names, types and errors are Spark's own. The rest moves the analyzed expressions to where they
  * run: on the map side, in an accumulator, or over results.
  */
package object plan
