package transom.engine

/** What all settings share: their checks, their limits, and how a duration reads.
  *
  * A setting that is wrong raises `InvalidSpec` with the name of its field. `Constants` is
  * generated, so that Python and the engine have the same limits.
  */
package object setting
