package transom.engine

/** Arithmetic on instants, time zones and watermarks. Instants are microseconds since 1970.
  *
  * `Ticks` saturates at the bounds of a long, so the end of time needs no special case elsewhere.
  * `Zone` is the only class that knows a time zone: windows are defined in wall-clock time, while
  * rows, timers and watermarks are instants. `Watermark.NotYet` is before every instant, so a
  * comparison with a missing watermark is right without a check.
  */
package object time
