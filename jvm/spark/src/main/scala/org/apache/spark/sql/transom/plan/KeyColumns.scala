package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.transom.function.NullOnError

/** Rows with their grouping columns. An error in a key marks its row, and does not end the query.
  *
  * @param plan
  *   the rows, with the columns below next to their own
  * @param columns
  *   the grouping columns, in order; some or all of them are null if a key of the row failed
  * @param failed
  *   whether a key of the row failed; none if no key can fail
  */
private final class KeyColumns(
    val plan: LogicalPlan,
    val columns: Seq[Attribute],
    val failed: Option[Attribute])

/** Computes grouping columns. */
private object KeyColumns {
  def of(grouping: Seq[NamedExpression], rows: LogicalPlan): KeyColumns = {
    val keys = grouping.map {
      case Alias(key, _) => key
      case column => column
    }
    // A column, so that Spark computes the keys once for their values and for the mark.
    val computed = computedOf(keys).map(Alias(_, "keys")())
    val columns = grouping.zip(valuesOf(keys, computed.map(_.toAttribute))).map {
      case (alias: Alias, value) => Alias(value, alias.name)(alias.exprId)
      case (column, _) => column
    }
    val failed = computed.map(keys => Alias(IsNull(keys.toAttribute), "key_failed")())
    val below = if (computed.isEmpty) rows else Project(rows.output ++ computed, rows)
    new KeyColumns(
      Project(rows.output ++ columns.filterNot(_.isInstanceOf[Attribute]) ++ failed, below),
      columns.map(_.toAttribute),
      failed.map(_.toAttribute))
  }

  /** Expressions that identify a key: its values, and a mark if a key can fail. Rows with a
    * failed key differ from all other rows.
    */
  def identityOf(keys: Seq[Expression]): Seq[Expression] = {
    val computed = computedOf(keys)
    valuesOf(keys, computed).map(ComparableKeys.of) ++ computed.map(IsNull(_))
  }

  /** A struct of the keys that can fail, null if one of them fails; none if no key can fail. */
  private def computedOf(keys: Seq[Expression]): Option[Expression] = {
    val fields = fallible(keys).zipWithIndex.flatMap { case (key, i) =>
      Seq(Literal(s"key_$i"), key)
    }
    Option.when(fields.nonEmpty)(NullOnError(CreateNamedStruct(fields)))
  }

  private def valuesOf(keys: Seq[Expression], computed: Option[Expression]): Seq[Expression] =
    keys.map { key =>
      val field = fallible(keys).indexOf(key)
      computed.filter(_ => field >= 0).fold(key)(GetStructField(_, field))
    }

  private def fallible(keys: Seq[Expression]): Seq[Expression] =
    keys.filter(NullOnError.canFail)
}
