package org.apache.spark.sql.transom.aggregate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.operator.WindowOperatorPlan

/** Result row of a fired window: its keys, its bounds in microseconds since 1970, and the results
  * of its functions. It reads keys and results from shared buffers, so the next key or window
  * overwrites the row. Copy the row to keep it.
  *
  * @param width
  *   the number of columns; the first one after the results holds the watermark if the operator
  *   calls a function, and all others are null
  */
final class WindowResultRow(
    operatorPlan: WindowOperatorPlan,
    keys: UnsafeRow,
    results: SpecificInternalRow,
    width: Int)
    extends BaseGenericInternalRow {
  private val keyTypes = operatorPlan.keys.map(_.dataType).toArray
  private val resultTypes = operatorPlan.aggregates.map(_.resultAttribute.dataType).toArray
  private val startAt = keyTypes.length
  private val endAt = startAt + 1
  private val resultsFrom = startAt + 2
  private val until = resultsFrom + results.numFields
  var start: Long = 0L
  var end: Long = 0L
  var watermark: Long = Long.MinValue
  private val watermarkAt = if (operatorPlan.settings.function.isCalled) until else -1

  override def numFields: Int = width

  override def isNullAt(i: Int): Boolean =
    if (i < startAt) keys.isNullAt(i)
    else if (i < resultsFrom) false
    else if (i < until) results.isNullAt(i - resultsFrom)
    else i != watermarkAt

  override def getLong(i: Int): Long =
    if (i < startAt) keys.getLong(i)
    else if (i == startAt) start
    else if (i == endAt) end
    else if (i < until) results.getLong(i - resultsFrom)
    else watermark

  override def getBoolean(i: Int): Boolean =
    if (i < startAt) keys.getBoolean(i) else results.getBoolean(i - resultsFrom)

  override def getInt(i: Int): Int =
    if (i < startAt) keys.getInt(i) else results.getInt(i - resultsFrom)

  override def getDouble(i: Int): Double =
    if (i < startAt) keys.getDouble(i) else results.getDouble(i - resultsFrom)

  override protected def genericGet(i: Int): Any =
    if (isNullAt(i)) null
    else if (i < startAt) keys.get(i, keyTypes(i))
    else if (i == startAt) start
    else if (i == endAt) end
    else if (i == watermarkAt) watermark
    else results.get(i - resultsFrom, resultTypes(i - resultsFrom))

  override def update(i: Int, value: Any): Unit = throw new UnsupportedOperationException
  override def setNullAt(i: Int): Unit = throw new UnsupportedOperationException
}
