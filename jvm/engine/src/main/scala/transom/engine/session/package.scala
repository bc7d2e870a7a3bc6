package transom.engine

/** The session log: sessions with one gap for all rows that fire once, when they close.
  *
  * {{{
  * sessions of tasks ──► chained to whole sessions ──► slices as wide as the gap ──► closed sessions
  * }}}
  *
  * The bounds of a session depend on its rows. But everything that can touch a session that
  * closes lies in slices that have begun by then. So the log reads only these, and of these only
  * the segments in which a session may close. The directory notes when that is. Late rows wait
  * until all rows of the batch have come, because one of them may open a session that accepts the
  * late row.
  */
package object session
