package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.transom.operator.WindowOperatorPlan

/** The map side of a window operator in one batch, as sent to tasks.
  *
  * @param input
  *   the columns of the rows that the tasks read, under the operator's names
  * @param watermark
  *   the late watermark in microseconds since 1970; `Watermark.NotYet` if there is none
  */
final class MapSidePlan(
    val operatorPlan: WindowOperatorPlan,
    val input: Seq[Attribute],
    val watermark: Long)
    extends Serializable {

  /** The late watermark in the engine's convention. */
  val lateWatermark: Long = operatorPlan.convention.watermarkIn(watermark)

  def encode(rows: Iterator[InternalRow]): Iterator[InternalRow] =
    if (operatorPlan.substreams.isDefined) new SubstreamMapSide(this, rows)
    else if (operatorPlan.hasMapSideCombine) new CombiningMapSide(this, rows)
    else new RowMapSide(this, rows)
}
