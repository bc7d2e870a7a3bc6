package org.apache.spark.sql.transom.task

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.exchange.RowWindowReader
import org.apache.spark.sql.transom.planned.WindowOperatorPlan
import org.apache.spark.sql.transom.schema.RowReader

import transom.engine.keyed.contract.RowCodec
import transom.engine.spec.LayoutRules
import transom.engine.state.ByteRange
import transom.engine.window.RowContext

/** Reads and writes the values of exchange rows in the keyed layout. The values are records, or
  * accumulators if the map side combines rows.
  */
private[task] final class RecordCodec(operatorPlan: WindowOperatorPlan)
    extends RowCodec[UnsafeRow] {
  private val schemas = operatorPlan.schemas
  private lazy val keepsRows = LayoutRules.keepsRows(operatorPlan.spec)
  private val readers = mutable.HashMap.empty[Int, RowReader]
  private val width =
    if (operatorPlan.hasMapSideCombine) operatorPlan.buffers.length
    else operatorPlan.record.length
  private val hasTime = operatorPlan.spec.time.exists(_.isEventTime)
  // The time comes first.
  private val idWidth = 1 + operatorPlan.spec.lifetime.fold(0)(_.idColumns.length)
  private val shared = new UnsafeRow(width)

  override def view(bytes: ByteRange): UnsafeRow = {
    shared.pointTo(bytes.bytes, UnsafeRows.offset(bytes), bytes.length)
    shared
  }

  override def decode(bytes: Array[Byte], offset: Int, length: Int): UnsafeRow =
    rowOf(width, bytes, offset, length)

  private def rowOf(width: Int, bytes: Array[Byte], offset: Int, length: Int): UnsafeRow = {
    val row = new UnsafeRow(width)
    row.pointTo(bytes, UnsafeRows.ArrayOffset + offset, length)
    row
  }

  override def encode(row: UnsafeRow): Array[Byte] = row.getBytes

  override def layout: Int =
    if (keepsRows) schemas.current
    else throw new IllegalStateException("the schema of the state has no rows")

  override def converted(
      written: Int,
      bytes: Array[Byte],
      offset: Int,
      length: Int): Array[Byte] = {
    val reader = readers.getOrElseUpdate(written, schemas.rowReader(written))
    reader(rowOf(schemas(written).rows.length, bytes, offset, length)).copy().getBytes
  }

  override def setTime(bytes: ByteRange, time: Long): Unit = view(bytes).setLong(0, time)

  override def timeOf(row: UnsafeRow): Long = if (hasTime) row.getLong(0) else RowContext.NoTime

  override def idOf(row: UnsafeRow): Array[Byte] = RowWindowReader.idOf(row, idWidth).getBytes
}
