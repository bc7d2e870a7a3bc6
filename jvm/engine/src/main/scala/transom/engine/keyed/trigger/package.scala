package transom.engine.keyed

/** Triggers: when a window fires, and whether it is purged then.
  *
  * A `TriggerLogic` has no changing fields. Its numbers are in slots of the window, so a restart
  * keeps them, and windows that merge can merge them. Wrapping triggers hold other triggers, and
  * each part of a trigger has slots of its own.
  */
package object trigger
