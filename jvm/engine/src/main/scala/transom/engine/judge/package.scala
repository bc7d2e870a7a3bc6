package transom.engine

/** Judges rows: which time is in force, which watermark a row met, and what becomes of it.
  *
  * {{{
  * rows in order ──► Judge ──► Judgement ──► windows
  *                    │ CommonWatermark: a watermark for the whole batch has judged the rows
  *                    │ PartitionWatermarks: the least watermark of all partitions, idle closing
  *                    │ SourceWatermarks: a watermark for each source, without windows
  *                    └ SubstreamWatermarks: a watermark for each substream, its keys and timers
  * }}}
  *
  * A time policy decides about a row by the rows before it (`TimePolicyLogic`). So the rows of a
  * source must be in one task, in order. The rows of an input go through `TimeStage` in front of
  * the windows, because their watermark depends on all partitions. The rows of a substream are in
  * one key group anyway, so the keyed layout judges them right before their windows receive them.
  */
package object judge
