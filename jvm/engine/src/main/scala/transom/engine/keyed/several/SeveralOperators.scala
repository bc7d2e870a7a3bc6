package transom.engine.keyed.several

import transom.engine.keyed._
import transom.engine.keyed.keystate._
import transom.engine.spec.{ProcessingTime, WindowSpec}
import transom.engine.time.Timeline
import transom.engine.window.Windows

/** Creates the operators of several windows in one pass. A key has one state, which holds the
  * state of each member.
  *
  * @param codec
  *   copies rows, because members may read other rows through a shared instance
  * @param operatorsOf
  *   creates the operators of a member from its spec, rows and results
  */
final class SeveralOperators[R, A <: AnyRef](
    spec: WindowSpec,
    windows: Windows,
    rows: Contents[R],
    rowCodec: RowCodec[R],
    results: Results[R, A])(
    operatorsOf: (WindowSpec, Contents[R], Results[R, A]) => PerKeyOperators[R, _ <: PerKeyState])
    extends PerKeyOperators[R, SeveralStates] {

  private val members: Vector[Member[R]] = windows.members.toVector.zipWithIndex.map {
    case (window, index) =>
      val times = MemberTimes.of(window, windows, spec.time.contains(ProcessingTime))
      val operators = operatorsOf(
        spec.copy(window = window),
        new MemberRows(rows, index, times),
        new MemberResults(results, index, times))
      // A member gets only the states that its own codec has created.
      new Member(window, times, operators.asInstanceOf[PerKeyOperators[R, PerKeyState]])
  }

  override val codec: PerKeyCodec[SeveralStates] =
    new SeveralCodec(members.map(_.operators.codec), members.map(_.times))

  override def timeline: Timeline = members.head.operators.timeline

  override def weightOf(row: R): Int = members.iterator.map(_.operators.weightOf(row)).sum

  override def of(group: Int, firstRow: => Long): PerKeyOperator[R, SeveralStates] =
    new SeveralOperator(members, members.map(_.operators.of(group, firstRow)), rowCodec)
}
