package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.transom.planned.WindowOperatorPlan

import transom.engine.runtime._
import transom.engine.state.KeyGroupState

/** An operator of the engine in a task, and the state that it needs. Not thread-safe.
  *
  * Spark also asks for the state variables on the driver, where only `storeOf` may be called.
  */
trait KeyGroupTask {

  /** The state of key groups. */
  type State

  /** Declares the variables that the operator needs in the state of a key group. */
  def storeOf(state: KeyGroupState): State

  protected def operator: TaskOperator[State, InternalRow]

  /** Opens the operator on a key group.
    *
    * @param group
    *   id of the key group
    * @param nowMs
    *   wall clock of the batch, milliseconds since 1970
    */
  def open(group: Int, state: State, nowMs: Long): KeyGroupOperator[InternalRow] =
    operator.open(group, state, nowMs * 1000L)

  /** The id of an input partition as text, or null.
    *
    * @param source
    *   the bytes that identify the partition
    */
  def partitionId(source: Array[Byte]): String =
    throw new UnsupportedOperationException("the operator has no watermarks of partitions")

  /** The inputs of a key group in a batch.
    *
    * @param rows
    *   the exchange rows of the key group, in order of arrival
    * @param watermark
    *   the watermark of the host, microseconds, or `Watermark.NotYet`
    */
  def inputs(rows: Iterator[InternalRow], watermark: Long): Iterator[GroupInput]
}

/** Creates the tasks of an operator. Sent to executors. */
trait KeyGroupTasks extends Serializable {
  def create(): KeyGroupTask

  /** Whether the watermark of the operator is Spark's. */
  def hasSparkWatermark: Boolean

  /** These tasks in a batch.
    *
    * @param change
    *   returns the plan of a window operator in this batch
    */
  def in(change: WindowOperatorPlan => WindowOperatorPlan): KeyGroupTasks
}
