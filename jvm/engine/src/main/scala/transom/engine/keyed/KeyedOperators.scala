package transom.engine.keyed

import java.nio.ByteBuffer

import transom.engine.firing.Conditions
import transom.engine.keyed.contract._
import transom.engine.keyed.keystate.{KeyState, StateCodec}
import transom.engine.spec._
import transom.engine.state.KeyGroups
import transom.engine.sweep.SweepOperators
import transom.engine.time.{Ticks, Timeline}
import transom.engine.window.{Stagger, Tumbling, Windows}

/** Chooses the operators that run the windows of a spec, for one key at a time.
  *
  * {{{
  * windows                              operators
  * several in one pass                  SeveralOperators, over one of the others for each window
  * over lifetimes, between starts       SweepOperators
  * all others                           WindowOperators
  * }}}
  *
  * A host needs nothing else of this package. It gives the state of a key, its rows and the
  * clocks, and reads the results.
  */
object KeyedOperators {

  /** @param codec
    *   encodes rows
    * @param rows
    *   stores the raw rows of the current key
    * @param conditions
    *   the predicates and distance functions of triggers and evictors
    * @param results
    *   builds the results of the current key
    */
  def of[R, A <: AnyRef, T](
      spec: WindowSpec,
      aggregation: WindowAggregation[R, A],
      codec: RowCodec[R],
      rows: RowStore[R],
      conditions: => Conditions[R, A],
      results: Results[R, A, T]): PerKeyOperators[R, _ <: PerKeyState, T] = spec.window match {
    case windows: Windows =>
      new SeveralOperators(spec, windows, aggregation, codec, rows, conditions, results)
    case _ if spec.isSwept => new SweepOperators(spec, aggregation, codec, rows, results)
    case _ =>
      val plan = KeyedPlan.of(spec, aggregation, rows, conditions)
      new WindowOperators(spec, plan, rows, results)
  }
}

/** Creates the operators that assign rows to windows.
  *
  * @param plan
  *   what the operators execute; staggered windows replace the offset of its assigner
  * @param rows
  *   stores the raw rows of the current key
  * @param results
  *   builds the results of the current key
  */
final class WindowOperators[R, A <: AnyRef, T](
    spec: WindowSpec,
    plan: KeyedPlan[R, A],
    rows: RowStore[R],
    results: Results[R, A, T])
    extends PerKeyOperators[R, KeyState[A], T] {
  private val aligned = operatorOf(plan)

  override val codec: PerKeyCodec[KeyState[A]] = new StateCodec(plan.aggregation)

  override def timeline: Timeline = plan.assigner.timeline

  override def weightOf(row: R): Int = plan.aggregation.weightOf(row)

  // A staggered window has an offset per key group, so each key group needs its own operator.
  override def of(group: Int, firstRow: => Long): PerKeyOperator[R, KeyState[A], T] =
    spec.window match {
      case window: Tumbling if window.stagger != Stagger.Aligned =>
        val offset = Staggers.offset(window.stagger, window, group, firstRow)
        val assigner = window.copy(offsetUs = offset).assigner(timeline)
        operatorOf(plan.copy(assigner = assigner))
      case _ => aligned
    }

  private def operatorOf(plan: KeyedPlan[R, A]): PerKeyOperator[R, KeyState[A], T] =
    plan.assigner.checks match {
      case Some(checks) => new CheckedSessionOperator(plan, checks, rows, results)
      case None => new KeyedOperator(plan, rows, results)
    }
}

/** Computes the window offset of a key group (flink.md 1.3). Different offsets prevent all
  * windows from firing at the same time.
  */
object Staggers {

  /** Returns the window offset of a key group in microseconds.
    *
    * @param group
    *   number of the key group
    * @param firstRow
    *   wall-clock time in microseconds when the key group's first row arrived. Keep this time in
    *   the state, or the windows move after a restart.
    */
  def offset(stagger: Stagger, window: Tumbling, group: Int, firstRow: Long): Long = {
    val moved = stagger match {
      case Stagger.Aligned => 0L
      case Stagger.Random => randomOffset(group, window.sizeUs)
      case Stagger.Natural =>
        val offset = Math.floorMod(window.offsetUs, window.sizeUs)
        Ticks.sinceBoundary(firstRow, window.sizeUs, offset)
    }
    (window.offsetUs + moved) % window.sizeUs
  }

  /** Derives a pseudo-random offset from the number of the key group, so the offset stays the
    * same after a restart.
    */
  private def randomOffset(group: Int, size: Long): Long =
    Math.floorMod(KeyGroups.hash(ByteBuffer.allocate(8).putLong(group).array), size)
}
