package transom.engine

/** What a key group stores, and how accumulators are kept in sorted segments.
  *
  * {{{
  * segments of a batch ──► SliceDirectory ──► SegmentStore ──► KeyGroupState: Spark's store, memory
  *                    ◄── Merge, MergedRuns ◄── runs of segments, one segment of each in memory
  * }}}
  *
  * The cost of a state store is per entry, and hardly depends on the size of the entry. So the
  * logs store no key alone. A segment holds the accumulators of many keys, sorted by hash and
  * key, and a run is a sequence of such segments. Firing merges runs, and looks up no key. The
  * directory is the only value that each batch reads. Segments that one batch writes and consumes
  * never reach the store (`BufferedStore`), and small ones share an entry (`BundledStore`).
  */
package object state
