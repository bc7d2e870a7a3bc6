package transom.engine.keyed

import transom.engine.keyed.keystate._
import transom.engine.spec.WindowSpec
import transom.engine.time.Timeline
import transom.engine.window.{Assigner, Stagger, Tumbling}

/** Creates the operators that assign rows to windows.
  *
  * @param plan
  *   what the operators execute; staggered windows replace the offset of its assigner
  * @param rows
  *   stores the raw rows of the current key
  * @param results
  *   receives the results of the current key
  */
final class WindowOperators[R, A <: AnyRef](
    spec: WindowSpec,
    plan: KeyedPlan[R, A],
    rows: Contents[R],
    results: Results[R, A])
    extends PerKeyOperators[R, KeyState[A]] {
  private val aligned = WindowOperators.of(plan, rows, results)

  override val codec: PerKeyCodec[KeyState[A]] = new StateCodec(plan.aggregation)

  override def timeline: Timeline = plan.assigner.timeline

  override def weightOf(row: R): Int = plan.aggregation.weightOf(row)

  // A staggered window has an offset per key group, so each key group needs its own operator.
  override def of(group: Int, firstRow: => Long): PerKeyOperator[R, KeyState[A]] =
    spec.window match {
      case window: Tumbling if window.stagger != Stagger.Aligned =>
        val offset = Staggers.offset(window.stagger, window, group, firstRow)
        val assigner = Assigner.of(window.copy(offsetUs = offset), timeline)
        WindowOperators.of(plan.copy(assigner = assigner), rows, results)
      case _ => aligned
    }
}

/** Creates the operators of a key. */
object WindowOperators {

  /** Returns the operator of a plan.
    *
    * @param rows
    *   stores the raw rows of the current key
    * @param results
    *   receives the results of the current key
    */
  def of[R, A <: AnyRef](
      plan: KeyedPlan[R, A],
      rows: Contents[R],
      results: Results[R, A]): PerKeyOperator[R, KeyState[A]] = plan.assigner.checks match {
    case Some(checks) => new CheckedSessionOperator(plan, checks, rows, results)
    case None => new KeyedOperator(plan, rows, results)
  }
}
