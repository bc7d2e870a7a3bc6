package org.apache.spark.sql.transom

/** The engine's operator in a Spark task: inputs in, rows out.
  *
  * {{{
  * exchange rows ──► KeyGroupTask: inputs ──► engine's operator ──► KeyGroupOutput: rows, metrics
  *                    ▲ KeyGroupProcessor: Spark's state, timers, batches
  * }}}
  *
  * `Operators` chooses the classes that run a plan. `KeyGroupProcessor` is the host for streams:
  * Spark calls it for each key group with rows or with an expired timer. The engine names the
  * variables of the state and encodes their keys and values. Spark holds one timer for a key
  * group, for the earliest of the timers in its state (`GroupTimer`).
  */
package object task
