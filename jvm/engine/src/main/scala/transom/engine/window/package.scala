package transom.engine

/** Kinds of windows: their settings, their bounds, and which rows belong to them.
  *
  * {{{
  * Window ──► grid, slices      same for all keys: tumbling, hopping, cumulate, calendar
  *       ├──► assigner          windows of a single row: also sessions, counts, listed windows
  *       └──► convention        from the times of the host to those of the engine
  * }}}
  *
  * A `Window` is a kind with its settings. Its file has all rules of the kind. `TimeConvention`
  * turns `closed="right"` into a shift of times and watermarks. So all other classes know one
  * convention only: a window holds its start but not its end. A `Grid` is the same for all keys.
  * So rows can be combined by slice before the keys meet, and overlapping windows share slices.
  * An `Assigner` finds the windows of a single row, for the keyed layout. A sweep finds the
  * windows of `Swept.scala`. `RowOutcome` and `MissedWindows` say what has become of a row.
  */
package object window
