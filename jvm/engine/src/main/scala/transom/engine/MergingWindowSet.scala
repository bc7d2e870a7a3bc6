package transom.engine

/** The live sessions of one key, each with the window under whose name its contents are stored.
  *
  * A session keeps that name while it grows, so that its contents need not move.
  *
  * @param names
  *   the name of each live session; no two sessions intersect
  */
final case class MergingWindowSet(
    inclusive: Boolean = true,
    names: Map[TimeWindow, TimeWindow] = Map.empty) {

  /** Lets `window` join the sessions it intersects, or else opens one. */
  def add(window: TimeWindow): MergingWindowSet.Added = {
    val sources =
      names.keys.filter(Sessions.intersects(_, window, inclusive)).toVector.sortBy(_.start)
    val session = sources.foldLeft(window)(_ cover _)
    val storedAs = sources.headOption.fold(window)(names)
    MergingWindowSet.Added(
      copy(names = names -- sources + (session -> storedAs)),
      session,
      if (sources == Vector(session)) Vector.empty else sources,
      sources.drop(1).map(names))
  }

  /** Forgets a session whose time is over. */
  def retire(session: TimeWindow): MergingWindowSet = copy(names = names - session)
}

object MergingWindowSet {

  /** @param set
    *   the sessions after the window was added
    * @param session
    *   the one that the window now belongs to
    * @param merged
    *   sessions it took in; none if the window is new or changed nothing
    * @param folded
    *   names whose contents have to move to the session's own name
    */
  final case class Added(
      set: MergingWindowSet,
      session: TimeWindow,
      merged: Seq[TimeWindow],
      folded: Seq[TimeWindow])
}
