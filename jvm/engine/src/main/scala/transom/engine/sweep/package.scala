package transom.engine

/** Windows over lifetimes: a sweep moves over the starts and ends of a key.
  *
  * {{{
  * rows ──► PendingRows ──► at its start ──► live rows ──► at each stop: result ──► at its end: gone
  *           by start                        aggregates that remove, or partial aggregates by run
  * }}}
  *
  * Rows wait until the watermark has passed their start, because only then is their order final.
  * So each start and each end changes the live rows once, and no window is computed twice. A kind
  * of window is a `Sweep`: it decides where the sweep stops and what a row lives for. Live rows
  * are in sorted runs with partial aggregates, so a change costs the logarithm of their number.
  * Rows whose end is another row (edges) live in a structure that finds them by their identity.
  */
package object sweep
