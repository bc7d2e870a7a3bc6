package transom.engine

/** The time stage: judges rows one by one, in the order of their arrival, by a `TimePolicy`.
  *
  * {{{
  * rows in order ──► TimeStage ──► StageClock ──► TimePolicyLogic ──► Stamp: time, watermark, decision
  *                                  │ InputClock: watermark of all partitions, idle closing
  *                                  └ SourceClocks: a watermark for each source
  * }}}
  *
  * A policy decides about a row by the rows before it. So the rows of a source must be in one
  * task, in order, and the stage stands in front of the windows. The stage stores a few numbers
  * for each source, and no rows. The windows behind it need no clock of their own: the watermark
  * that a row met is part of the row, and the watermark by which windows fire follows the rows of
  * the batch.
  */
package object policy
