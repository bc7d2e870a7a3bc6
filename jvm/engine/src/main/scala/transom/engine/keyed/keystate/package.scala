package transom.engine.keyed

/** The state of a key in the keyed layout: its windows, their timers, and its rows.
  *
  * The state of a key is one value (`StateCodec`), which is decoded, changed and encoded. Rows
  * are entries of their own (`RowStore`), because a window may hold more rows than one value
  * should. The timer index is sorted by time. So a batch finds the keys with due timers, and
  * touches no others.
  */
package object keystate
