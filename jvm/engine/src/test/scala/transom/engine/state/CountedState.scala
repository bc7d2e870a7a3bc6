package transom.engine.state

import scala.collection.mutable

/** The state of a key group in memory, whose values are counted. */
final class CountedState extends KeyGroupState {
  private val state = new MemoryState
  private val values = mutable.Set.empty[String]
  private val maps = mutable.Set.empty[String]

  override def value(name: String): StateValue = {
    values += name
    state.value(name)
  }

  override def map(name: String): StateMap = {
    maps += name
    state.map(name)
  }

  /** Number of values, in all variables. */
  def size: Int = values.count(state.value(_).get != null) + maps.toSeq.map(sizeOf).sum

  /** Number of values in a map. */
  def sizeOf(map: String): Int = state.map(map).keys.size
}
