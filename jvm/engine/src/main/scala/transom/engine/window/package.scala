package transom.engine

/** Windows: their bounds, and which rows belong to them.
  *
  * {{{
  * row's time ──► TimeConvention ──► Grid: slice, windows      same for all keys
  *                              └──► Assigner: windows         also sessions, counts, listed windows
  * }}}
  *
  * `TimeConvention` turns `closed="right"` into a shift of times and watermarks. So all other
  * classes know one convention only: a window holds its start but not its end. A `Grid` is the
  * same for all keys. So rows can be combined by slice before the keys meet, and overlapping
  * windows share slices. An `Assigner` finds the windows of a single row, for the keyed layout.
  * `RowOutcome` and `MissedWindows` say what has become of a row.
  */
package object window
