package org.apache.spark.sql.transom.function

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** A struct whose fields have metadata. Spark drops the metadata of columns that become fields of
  * a struct. Without the metadata the window column would no longer carry the watermark.
  *
  * @param metadata
  *   the metadata of each field of `child`, in order
  */
final case class WithMetadata(child: Expression, metadata: Seq[Metadata])
    extends UnaryExpression
    with TaggingExpression {

  override def dataType: StructType = {
    val fields = child.dataType.asInstanceOf[StructType]
    StructType(fields.zip(metadata).map { case (field, added) => field.copy(metadata = added) })
  }

  override protected def withNewChildInternal(newChild: Expression): WithMetadata =
    copy(child = newChild)
}
