package org.apache.spark.sql.transom.aggregate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.planned.OutputSchema
import org.apache.spark.unsafe.types.UTF8String

/** Result row of a fired window: its keys, its bounds in microseconds since 1970, and the results
  * of its functions. Keys and results come from shared buffers, so the next key or window
  * overwrites the row. Copy the row to keep it.
  *
  * The columns after the results are null, except the window id and the watermark. Only
  * `FinalAggregation` sets the mutable fields.
  */
final class WindowResultRow(output: OutputSchema, keys: UnsafeRow, results: SpecificInternalRow)
    extends BaseGenericInternalRow {
  private val width = output.width
  private val types = output.types.toArray
  private val startAt = output.start
  private val endAt = output.end
  private val resultsFrom = output.results.start
  private val resultsEnd = output.results.end
  // No column is at -1.
  private val watermarkAt = output.watermark.getOrElse(-1)
  private val windowIdAt = output.windowId.getOrElse(-1)
  var start: Long = 0L
  var end: Long = 0L
  var watermark: Long = Long.MinValue

  /** Null if the windows have no ids. */
  var windowId: UTF8String = _

  override def numFields: Int = width

  override def isNullAt(i: Int): Boolean =
    if (i < startAt) keys.isNullAt(i)
    else if (i < resultsFrom) false
    else if (i < resultsEnd) results.isNullAt(i - resultsFrom)
    else if (i == windowIdAt) windowId == null
    else i != watermarkAt

  override def getLong(i: Int): Long =
    if (i < startAt) keys.getLong(i)
    else if (i == startAt) start
    else if (i == endAt) end
    else if (i < resultsEnd) results.getLong(i - resultsFrom)
    else watermark

  override def getBoolean(i: Int): Boolean =
    if (i < startAt) keys.getBoolean(i) else results.getBoolean(i - resultsFrom)

  override def getInt(i: Int): Int =
    if (i < startAt) keys.getInt(i) else results.getInt(i - resultsFrom)

  override def getDouble(i: Int): Double =
    if (i < startAt) keys.getDouble(i) else results.getDouble(i - resultsFrom)

  override protected def genericGet(i: Int): Any =
    if (isNullAt(i)) null
    else if (i < startAt) keys.get(i, types(i))
    else if (i == startAt) start
    else if (i == endAt) end
    else if (i == windowIdAt) windowId
    else if (i == watermarkAt) watermark
    else results.get(i - resultsFrom, types(i))

  override def update(i: Int, value: Any): Unit = throw new UnsupportedOperationException
  override def setNullAt(i: Int): Unit = throw new UnsupportedOperationException
}
