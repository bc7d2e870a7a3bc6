package transom.engine

/** Windows over substreams: each substream of a key group has a watermark of its own.
  *
  * All rows of a substream are in one key group. So the time policy needs no stage of its own:
  * `SubstreamClocks` judges a row right before its windows receive it. The timers of a key are
  * due by the watermark of its substream, so they are in a heap for each substream.
  */
package object substream
