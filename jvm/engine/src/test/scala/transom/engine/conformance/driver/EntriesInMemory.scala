package transom.engine.conformance.driver

import scala.collection.mutable

import transom.engine.keyed.contract.Entries

/** The entries of one key in memory. Counts how many are read and written. */
final class EntriesInMemory extends Entries {
  private val entries = mutable.HashMap.empty[(Long, Long), Array[Byte]]
  var gets = 0
  var puts = 0

  def size: Int = entries.size

  /** Size of the largest entry. */
  def largest: Int = entries.values.map(_.length).maxOption.getOrElse(0)

  override def getBytes(list: Long, number: Long): Array[Byte] = {
    gets += 1
    entries((list, number)).clone
  }

  override def putBytes(list: Long, number: Long, bytes: Array[Byte]): Unit = {
    puts += 1
    entries((list, number)) = bytes
  }

  override def remove(list: Long, number: Long): Unit =
    assert(entries.remove((list, number)).isDefined, s"no entry $list $number")
}
