package transom.engine

/** The slice log: windows on grids that fire once, when the watermark passes their ends.
  *
  * {{{
  * segments by slice ──► SliceLog ──► due windows: runs of their slices merged ──► results by key
  *                         │ Blocks: merged slices in the state, for windows that fire one at a time
  *                         └ TwoStacks: merged slices in memory, for windows that fire together
  * }}}
  *
  * A row is in one slice, however many windows overlap. So state and map-side work do not grow
  * with the overlap, and only firing does. `Blocks` and `TwoStacks` keep firing cheap in its two
  * extremes: single windows in small batches, and many windows in a batch that catches up. In
  * several windows, the log of finer windows feeds the logs of coarser ones.
  */
package object slice
