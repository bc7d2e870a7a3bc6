package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.function.NullOnError
import org.apache.spark.sql.transom.planned.SubstreamColumns

import transom.engine.spec.{TimePolicy, WindowSpec}

/** What windows over substreams need besides the windows themselves.
  *
  * @param arrival
  *   computes the arrival time of a row in microseconds
  * @param order
  *   the columns that define the order of arrival
  */
final class Substreams(
    val columns: SubstreamColumns,
    val arrival: NamedExpression,
    val order: Seq[Attribute])

/** Plans windows over substreams. */
object SubstreamPlanner {

  /** None if the windows have no time policy, or a policy without substreams. Throws
    * `TRANSOM_SUBSTREAM_NOT_IN_KEYS` if a column of the substream is no key.
    */
  def of(spec: WindowSpec, analyzed: AnalyzedColumns): Option[Substreams] =
    (spec.time, analyzed.policy) match {
      case (Some(policy: TimePolicy), Some(sources)) if policy.overColumns.nonEmpty =>
        val arrival = TimeStagePlanner.arrivalOf(sources)
        Some(
          new Substreams(
            SubstreamColumns(
              policy,
              arrival.toAttribute,
              keysOf(spec, policy, analyzed),
              sources.punctuation),
            arrival,
            TimeStagePlanner.orderOf(policy, sources, arrival)))
      case _ => None
    }

  /** The positions of the keys that identify a substream. */
  private def keysOf(
      spec: WindowSpec,
      policy: TimePolicy,
      analyzed: AnalyzedColumns): Seq[Int] = {
    val keys = spec.keyColumns.map(index => plain(analyzed.byIndex(index)))
    policy.overColumns
      .map { index =>
        val column = plain(analyzed.byIndex(index))
        val at = keys.indexWhere(_.semanticEquals(column))
        if (at < 0)
          throw new TransomException("TRANSOM_SUBSTREAM_NOT_IN_KEYS", Map("column" -> column.sql))
        at
      }
      .distinct
      .sorted
  }

  private def plain(column: Expression): Expression = column.transformDown {
    case NullOnError(child) =>
      child
  }
}
