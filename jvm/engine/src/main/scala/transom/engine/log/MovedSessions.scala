package transom.engine.log

/** Sessions on their way into the next pane. They stay in memory if that is due as well, which
  * spares the state what a long session is in between.
  */
private final class MovedSessions(panes: Panes, val to: Long) {
  private lazy val writer = new SegmentWriter
  private var held = Vector.empty[Array[Byte]]
  private var bytes = 0L
  private var due = Long.MaxValue

  def append(hash: Long, key: Slice, bounds: SessionBounds, accumulator: Slice): Unit = {
    due = math.min(due, bounds.last)
    writer.append(hash, key, bounds, accumulator)
    if (writer.isFull) take()
  }

  private def take(): Unit = {
    val segment = writer.take()
    bytes += segment.length
    if (bytes <= PaneLog.SharedBytes) held :+= segment else panes.append(panes.open(to), segment)
  }

  /** What the next pane is to take in, if its earliest session ends by `lastDue`. */
  def close(lastDue: Long): Seq[Array[Byte]] =
    if (due == Long.MaxValue) Nil
    else {
      if (!writer.isEmpty) take()
      panes.get(to).foreach(pane => pane.due = math.min(pane.due, due))
      if (panes.get(to).exists(_.due <= lastDue)) held
      else {
        held.foreach(panes.append(panes.open(to), _))
        Nil
      }
    }
}
