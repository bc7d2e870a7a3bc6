package transom.engine.spec

/** The windows between neighbouring starts and ends of lifetimes (StreamInsight's snapshot
  * windows, S-30). The rows of a window are the same at each instant of the window. Windows
  * without rows have no result.
  *
  * @param closed
  *   which bound is inclusive
  */
final case class Snapshot(closed: Closed = Closed.Left) extends SweptWindow

/** The last `sizeUs` microseconds before each instant at which a row enters or leaves them
  * (Azure's sliding windows, Z-34). A window includes its end. Windows without rows have no
  * result.
  *
  * @param sizeUs
  *   length of a window
  */
final case class Rolling(sizeUs: Long) extends SweptWindow {

  Check.positive("size_us", sizeUs)

  override def takesLifetimes: Boolean = false
}

/** Windows over `size` distinct start times, one from each distinct start time on (StreamInsight's
  * count windows, S-32). A window holds the rows that start in it, so it may hold more than `size`
  * rows. It ends one microsecond after its last start time.
  *
  * @param size
  *   number of distinct start times in a window
  */
final case class CountByStart(size: Int) extends SweptWindow {

  Check.positive("size", size)
}

/** The lifetimes of rows. A row without a lifetime lasts one microsecond.
  *
  * A lifetime starts at the time of its row and excludes its end. One of the three settings is
  * given.
  *
  * @param endColumn
  *   index of the column with the end; a row whose end is null has no end
  * @param durationUs
  *   the duration of all rows, in microseconds
  * @param durationColumn
  *   index of the column with the duration of a row
  */
final case class Lifetime(
    endColumn: Option[Int] = None,
    durationUs: Option[Long] = None,
    durationColumn: Option[Int] = None) {

  durationUs.foreach(Check.positive("lifetime.duration_us", _))
  Check.that(
    "lifetime",
    Seq(endColumn, durationUs, durationColumn).flatten.length == 1,
    "needs an end or a duration, and only one of them")
}
