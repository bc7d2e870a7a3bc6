package transom.engine.sweep

import java.util.Arrays

import transom.engine.state.KeyBytes

/** Finds the open rows of a key by their ids: a hash table whose chains consist of the rows
  * themselves. So a lookup reads few objects. Not thread-safe.
  */
private[sweep] final class OpenIndex {
  private var chains = new Array[OpenRow](16)
  private var count = 0

  def hashOf(id: Array[Byte]): Int = KeyBytes.of(id).hashCode

  /** The row with an id; null if there is none.
    *
    * @param hash
    *   the hash of the id
    */
  def get(hash: Int, id: Array[Byte]): OpenRow = {
    var row = chains(chainOf(hash))
    while (row != null && (row.hash != hash || !Arrays.equals(row.id, id))) row = row.next
    row
  }

  /** Adds a row. Requires that no other row has its id. */
  def add(row: OpenRow): Unit = {
    if (2 * count == chains.length) {
      val old = chains
      chains = new Array[OpenRow](4 * count)
      var chain = 0
      while (chain < old.length) {
        var row = old(chain)
        while (row != null) {
          val next = row.next
          link(row)
          row = next
        }
        chain += 1
      }
    }
    link(row)
    count += 1
  }

  /** Removes a row. Requires that the index contains the row. */
  def remove(row: OpenRow): Unit = {
    val chain = chainOf(row.hash)
    if (chains(chain) eq row) chains(chain) = row.next
    else {
      var before = chains(chain)
      while (before.next ne row) before = before.next
      before.next = row.next
    }
    row.next = null
    count -= 1
  }

  private def link(row: OpenRow): Unit = {
    val chain = chainOf(row.hash)
    row.next = chains(chain)
    chains(chain) = row
  }

  private def chainOf(hash: Int): Int = hash & (chains.length - 1)
}
