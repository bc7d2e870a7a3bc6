package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.transom.schema.StateSchema

/** The physical node of an operator's map side.
  *
  * The driver finds an operator by this node in the plan of a running batch.
  */
trait MapSideNode extends SparkPlan {
  def spec: OperatorSpec

  /** Identifies the operator within its query and across the batches of a run. */
  def operatorId: String

  /** The types of everything that the state of the window operator holds; none for a time stage.
    */
  def stateSchema: Option[StateSchema]
}
