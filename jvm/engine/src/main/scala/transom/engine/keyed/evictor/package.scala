package transom.engine.keyed

/** Evictors: which rows of a window are left out before or after its result.
  *
  * An evictor needs the rows of a window, so a window with an evictor stores rows instead of an
  * accumulator.
  */
package object evictor
