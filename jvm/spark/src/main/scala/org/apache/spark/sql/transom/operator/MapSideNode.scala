package org.apache.spark.sql.transom.operator

import org.apache.spark.sql.execution.SparkPlan

/** The physical node of an operator's map side.
  *
  * The driver finds an operator by this node in the plan of a running batch.
  */
trait MapSideNode extends SparkPlan {
  def spec: OperatorSpec

  /** Identifies the operator within its query and across the batches of a run. */
  def operatorId: String
}
