package org.apache.spark.sql.transom.exec

import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.transom.clock.WithoutControlRow

/** Tells whether a task that computes the rows of a streaming plan again reads them in the same
  * order.
  *
  * Spark promises the same rows, not the same order: a task reads the blocks of a shuffle in the
  * order in which they arrive. Without a shuffle below, the order is that of the source. So each
  * node must be known to run in the task of its input. An unknown node counts as a shuffle. What
  * a source does shows only when it runs.
  */
object ReplayedOrder {

  /** The first node that may bring the rows in another order, or none. */
  def brokenBy(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case _ if plan.expressions.exists(SubqueryExpression.hasSubquery) => Some(plan)
    case _: LeafNode => None
    case Join(rows, table, joinType, _, hint) if isBroadcast(rows, table, joinType, hint) =>
      brokenBy(rows)
    case _: Project | _: Filter | _: SubqueryAlias | _: View | _: Generate | _: Expand |
        _: ResolvedHint | _: CollectMetrics | _: EventTimeWatermark |
        _: UpdateEventTimeWatermarkColumn | _: WithoutControlRow | _: Union |
        Repartition(_, false, _) | _: DeserializeToObject | _: SerializeFromObject |
        _: MapPartitions | _: MapElements | _: TypedFilter | _: AppendColumns |
        _: BaseEvalPython | _: MapInPandas | _: MapInArrow =>
      plan.children.flatMap(brokenBy(_)).headOption
    case other => Some(other)
  }

  /** Whether Spark sends a static table to the tasks of the rows on the left. Spark follows the
    * hint for these joins, with any condition.
    */
  private def isBroadcast(
      rows: LogicalPlan,
      table: LogicalPlan,
      joinType: JoinType,
      hint: JoinHint): Boolean = {
    val canBroadcast = joinType match {
      case Inner | LeftOuter | LeftSemi | LeftAnti => true
      case _ => false
    }
    canBroadcast && !table.isStreaming && hint == JoinHint.NONE &&
    strategyOf(rows).isEmpty && strategyOf(table).contains(BROADCAST)
  }

  /** The strategy that Spark's optimizer takes from one side of a join. */
  private def strategyOf(side: LogicalPlan): Option[JoinStrategyHint] = side match {
    case ResolvedHint(child, hint) => hint.strategy.orElse(strategyOf(child))
    case node: UnaryNode => strategyOf(node.child)
    case _ => None
  }
}
