package transom.engine

/** When a window fires, and which of its rows count: triggers and evictors.
  *
  * Each file has the value that the user sets, and the logic that executes the value. A
  * `TriggerLogic` has no changing fields. Its numbers are in slots of the window, so a restart
  * keeps them, and windows that merge can merge them. Wrapping triggers hold other triggers, and
  * each part of a trigger has slots of its own.
  *
  * An evictor needs the rows of a window, so a window with an evictor stores rows instead of an
  * accumulator.
  */
package object firing
