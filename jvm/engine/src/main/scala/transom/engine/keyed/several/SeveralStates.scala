package transom.engine.keyed.several

import transom.engine.keyed.keystate._
import transom.engine.state.{StateReader, StateWriter}

/** State of one key: the states of all members. */
final class SeveralStates private[several] (
    states: IndexedSeq[PerKeyState],
    times: IndexedSeq[MemberTimes])
    extends PerKeyState {

  private[several] def apply(member: Int): PerKeyState = states(member)

  override def nextTimer: Long =
    states.indices.iterator.map(i => times(i).watermarkOut(states(i).nextTimer)).min

  override def nextClockTimer: Long =
    states.indices.iterator.map(i => times(i).clockOut(states(i).nextClockTimer)).min

  override def isEmpty: Boolean = states.forall(_.isEmpty)

  override def heldBytes: Long = states.iterator.map(_.heldBytes).sum
}

/** Encodes and decodes the states of keys: the state of each member, each with its length. */
private[several] final class SeveralCodec(
    codecs: Vector[PerKeyCodec[PerKeyState]],
    times: Vector[MemberTimes])
    extends PerKeyCodec[SeveralStates] {
  private val out = new StateWriter

  override def create(): SeveralStates = new SeveralStates(codecs.map(_.create()), times)

  override def encode(states: SeveralStates): Array[Byte] = {
    codecs.indices.foreach(i => out.array(codecs(i).encode(states(i))))
    out.take()
  }

  override def removeEntries(states: SeveralStates): Unit =
    codecs.indices.foreach(i => codecs(i).removeEntries(states(i)))

  override def decode(bytes: Array[Byte]): SeveralStates = {
    val in = new StateReader(bytes)
    new SeveralStates(codecs.map(_.decode(in.array())), times)
  }
}
