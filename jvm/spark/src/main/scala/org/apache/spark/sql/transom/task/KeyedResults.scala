package org.apache.spark.sql.transom.task

import scala.collection.{mutable, AbstractIterator}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.transom.aggregate.KeyedAggregation
import org.apache.spark.sql.transom.planned.WindowOperatorPlan
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.keyed.contract.{Change, FiredWindow, Results}
import transom.engine.runtime.Pulled
import transom.engine.window.RowContext

/** Builds the rows that the windows of the keyed layout emit. Each row overwrites the one before
  * it.
  *
  * Not thread-safe. Call `pointAt` for each key before its windows emit.
  */
final class KeyedResults(operatorPlan: WindowOperatorPlan, aggregation: KeyedAggregation)
    extends Results[UnsafeRow, InternalRow, InternalRow] {
  import operatorPlan.output

  private val key = new UnsafeRow(operatorPlan.keys.length)
  private val encoded = new UnsafeRow(operatorPlan.aggregates.length)
  private val bounds = new SpecificInternalRow(Seq(LongType, LongType))
  private val optionalColumns = new GenericInternalRow(output.optionalWidth)
  private lazy val toContents =
    UnsafeProjection.create(operatorPlan.callColumns, operatorPlan.record)
  private val texts = mutable.HashMap.empty[String, UTF8String]
  private val noValues = new GenericInternalRow(operatorPlan.aggregates.length)
  private val front = new JoinedRow(key, bounds)
  private val back = new JoinedRow
  private val whole = new JoinedRow
  private val toRow = UnsafeProjection.create(output.types.toArray)

  set(output.windowGone, false)

  override def startMember(index: Int): Unit = set(output.windowId, operatorPlan.windowIds(index))

  override def pointAt(key: Array[Byte]): Unit = this.key.pointTo(key, key.length)

  override def result(window: FiredWindow, accumulator: InternalRow): InternalRow =
    row(window, aggregation.evaluated(accumulator))

  override def takesChanges: Boolean = operatorPlan.changes.nonEmpty

  /** Fills the lists of changes: with the parts of the rows that have entered, and behind a part
    * without a row with those of the rows that have left.
    */
  override def changedResult(
      window: FiredWindow,
      accumulator: InternalRow,
      entered: Iterator[UnsafeRow],
      left: Option[Iterator[UnsafeRow]]): InternalRow = {
    val values = aggregation.evaluated(accumulator)
    val rows =
      entered.map(Some(_)) ++ left.iterator.flatMap(Iterator.single(None) ++ _.map(Some(_)))
    val changed = rows.toArray
    operatorPlan.changes.foreach { case (list, part) =>
      val parts = changed.map(_.fold[Any](KeyedResults.noRow)(_.getStruct(part, 2)))
      values.update(list, new GenericArrayData(parts))
    }
    row(window, values)
  }

  override def change(window: FiredWindow, change: Change, result: Array[Byte]): InternalRow = {
    encoded.pointTo(result, result.length)
    set(output.change, text(change.name))
    row(window, encoded)
  }

  /** One output row for each row of the window, or a single output row for a window without rows.
    */
  override def ofRows(window: FiredWindow, rows: Iterator[UnsafeRow]): Iterator[InternalRow] =
    if (rows.isEmpty)
      Pulled.one(row(window, aggregation.evaluated(aggregation.create()), null, isLast = true))
    else {
      val first = rows.next()
      // `First` may restore the key from a row. Any row of the key is suitable.
      val ofKeys = aggregation.evaluated(aggregation.add(aggregation.create(), first))
      new AbstractIterator[InternalRow] {
        private var following = first
        override def hasNext: Boolean = following != null
        override def next(): InternalRow = {
          val current = following
          following = if (rows.hasNext) rows.next() else null
          row(window, ofKeys, toContents(current), isLast = following == null)
        }
      }
    }

  /** A row that marks that a window is removed. The function is not called for this row. */
  override def windowGone(window: FiredWindow): InternalRow = {
    set(output.windowGone, true)
    val gone = row(window, noValues, null, isLast = true)
    set(output.windowGone, false)
    gone
  }

  private def row(
      window: FiredWindow,
      values: InternalRow,
      ofWindow: InternalRow,
      isLast: Boolean): InternalRow = {
    set(output.isLast, isLast)
    set(output.row, ofWindow)
    row(window, values)
  }

  private def row(window: FiredWindow, values: InternalRow): InternalRow = {
    setBound(0, window.start)
    setBound(1, window.end)
    set(output.pane, paneOf(window))
    set(output.watermark, operatorPlan.convention.watermarkOut(window.watermark))
    val others = if (output.optionalWidth == 0) values else back(values, optionalColumns)
    toRow(whole(front, others))
  }

  /** Sets a column after the results, if the operator emits it. */
  private def set(column: Option[Int], value: => Any): Unit =
    if (column.isDefined) optionalColumns.update(output.amongOptional(column.get), value)

  private def paneOf(window: FiredWindow): InternalRow = {
    import window.pane
    InternalRow(
      pane.index,
      text(pane.timing.name),
      pane.isLast,
      pane.number.fold[Any](null)(Long.box),
      text(pane.cause.name))
  }

  private def text(name: String): UTF8String =
    texts.getOrElseUpdate(name, UTF8String.fromString(name))

  // A count window without event time has null bounds.
  private def setBound(i: Int, time: Long): Unit =
    if (time == RowContext.NoTime) bounds.setNullAt(i) else bounds.setLong(i, time)
}

/** The type of the `pane` column. */
object KeyedResults {
  val paneType: StructType = new StructType()
    .add("index", IntegerType, nullable = false)
    .add("timing", StringType, nullable = false)
    .add("is_last", BooleanType, nullable = false)
    .add("number", LongType)
    .add("cause", StringType, nullable = false)

  // A part has a state and a row.
  private val noRow = InternalRow(null, null)
}
