package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{LongType, StructField, StructType}

import transom.engine.operator.RowCounts

/** An output of a key group in a batch: its rows, or its row counts.
  *
  * The counts serve observed metrics. Spark's stateful operator has a cost per output row, so a
  * single output row carries all rows of a key group.
  */
final class KeyGroupOutput(counts: Option[RowCounts], val rows: Iterator[InternalRow])
    extends GenericInternalRow(
      Array[Any](counts.map(counts => InternalRow.fromSeq(counts.toSeq)).orNull))

/** Reads the counts of key group outputs. */
object KeyGroupOutput {

  /** The type of the counts, in the order of [[RowCounts.names]]. */
  val countsType: StructType =
    StructType(RowCounts.names.map(StructField(_, LongType, nullable = false)))

  /** The counts in the order of [[RowCounts.names]], or `Nil` if the output has none. */
  def counts(groupOutput: InternalRow): Seq[Long] =
    if (groupOutput.isNullAt(0)) Nil
    else {
      val counts = groupOutput.getStruct(0, RowCounts.names.length)
      RowCounts.names.indices.map(counts.getLong)
    }
}
