package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.UnaryExecNode
import org.apache.spark.sql.transom.schema.StateSchema

/** The physical node of an operator's map side.
  *
  * The driver finds an operator by this node in the plan of a running batch.
  */
trait MapSideNode extends UnaryExecNode {
  def spec: OperatorSpec

  /** Identifies the operator within its query and across the batches of a run. */
  def operatorId: String

  /** The types of everything that the state of the window operator holds; none for a time stage.
    */
  def stateSchema: Option[StateSchema]

  /** The columns of the child, in the order in which tasks read them. */
  def input: Seq[Attribute]

  override def producedAttributes: AttributeSet = outputSet ++ AttributeSet(input)

  // Tasks read columns by their position, so Spark must not prune any column of the child.
  @transient override lazy val references: AttributeSet = child.outputSet

  override def outputPartitioning: Partitioning = UnknownPartitioning(
    child.outputPartitioning.numPartitions)
}
