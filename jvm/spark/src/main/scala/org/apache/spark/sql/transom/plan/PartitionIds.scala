package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** The ids of input partitions, as strings. Ids that are equal by the collation of the user's
  * column name one partition, as equal keys are one key.
  */
private[plan] object PartitionIds {

  /** The id of a row's partition, the same bytes for equal ids.
    *
    * It is the declared id that the column equals. Without declared ids it is the text whose
    * bytes decide equality: with `UTF8_LCASE` in lower case, and with the collation of a language
    * the hexadecimal digits of the collation key.
    *
    * @param column
    *   the user's column, cast to a string
    * @param declared
    *   the ids of all partitions; empty if the policy does not name them
    */
  def of(column: Expression, declared: Seq[String]): Expression = collated(column) match {
    case None => column
    case Some((text, _)) if declared.nonEmpty =>
      val ids = declared.map { id =>
        (EqualTo(text, Literal(UTF8String.fromString(id), text.dataType)), Literal(id))
      }
      CaseWhen(ids, Some(column))
    case Some((text, kind)) =>
      val key = CollationKey(text)
      val isText = kind.isUTF8LcaseCollation || kind.isUTF8BinaryCollation
      if (isText) Cast(key, StringType) else Hex(key)
  }

  /** The declared ids without those that equal an id before them. */
  def distinct(column: Expression, declared: Seq[String]): Seq[String] =
    collated(column).fold(declared) { case (_, kind) =>
      declared.distinctBy(id =>
        CollationFactory.getCollationKey(UTF8String.fromString(id), kind.collationId))
    }

  /** The text below the cast, and its type, if bytes do not decide whether texts are equal. */
  private def collated(column: Expression): Option[(Expression, StringType)] = column match {
    case cast: Cast =>
      cast.child.dataType match {
        case kind: StringType if !kind.supportsBinaryEquality => Some((cast.child, kind))
        case _ => None
      }
    case _ => None
  }
}
