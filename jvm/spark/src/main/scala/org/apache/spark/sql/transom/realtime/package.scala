package org.apache.spark.sql.transom

/** Windows in Spark's Real-Time Mode: the host of the engine beside micro-batches and static
  * DataFrames.
  *
  * {{{
  * rows of a source ──► SourceTask ──► messages ──► RealTimeProcessor ──► results
  *                       watermark of   to the task  map side, engine, state on the heap
  *                       the source,    of the key
  *                       map side
  * }}}
  *
  * A batch lasts minutes here, and all its tasks run at the same time. Spark hands the processor
  * one message after the other. The map side of micro-batches runs in the source's task for rows
  * that are certainly on time, and behind the exchange for all others. The rows between two
  * advances of the watermark are a batch for the engine. So all rules are those of the other
  * hosts. The engine's state is kept on the heap and written once, when every task that reads a
  * source has sent its last message.
  *
  * A processor has no call at the end of a batch, because Spark commits the state before it
  * closes the processor. A source's task has: its rows end. So the tasks of the sources say when
  * the state must be written.
  */
package object realtime
