package transom.engine.judge

import transom.engine.spec._
import transom.engine.time.Watermark

/** The rules of a time policy without the floor of its late rule. */
private[engine] object FloorModel {
  import TimeStageSuite.Input

  /** How rows move the watermark, besides punctuation. */
  def periodicOf(policy: TimePolicy): Periodic = policy.advance match {
    case alone: Periodic => alone
    case Punctuated(_, _, beside) => beside.getOrElse(Periodic(Some(1), None))
  }

  /** The time of each row of a source by the rules, or none if a rule drops the row. Only
    * accepted rows move the watermark of this model.
    */
  def withoutFloor(policy: TimePolicy, rows: Seq[Input]): Seq[Option[Long]] = {
    var arrival = Long.MinValue
    var accepted = Seq.empty[Long]
    def moved(breaks: Long => Boolean, bound: Long, rule: TimeRule)(time: Long) = rule match {
      case _: Adjust if breaks(time) => Some(bound)
      case _: Drop if breaks(time) => None
      case _ => Some(time)
    }
    rows.map { row =>
      arrival = math.max(arrival, row.arrival)
      val mark = eventWatermark(policy, accepted)
      val latest = arrival + policy.early.fold(0L)(_.beyondUs)
      val earliest = arrival - policy.late.fold(0L)(_.beyondUs)
      val time = Option(row.time)
        .flatMap(moved(_ > latest, latest, policy.early.getOrElse(Accept(0))))
        .flatMap(moved(_ < earliest, earliest, policy.late.getOrElse(Accept(0))))
        .flatMap(moved(_ < mark, mark, policy.outOfOrder))
      accepted ++= time
      time
    }
  }

  /** The largest watermark that accepted rows of a source have set. */
  private def eventWatermark(policy: TimePolicy, accepted: Seq[Long]): Long = {
    val Periodic(rows, span) = periodicOf(policy)
    val marks = accepted.scanLeft(Long.MinValue)(math.max(_, _)).tail.zipWithIndex.map {
      case (latest, i) if rows.exists((i + 1) % _ == 0) => latest - policy.outOfOrder.beyondUs
      case (latest, _) =>
        span.fold(Watermark.NotYet) { every =>
          Math.floorDiv(latest, every) * every - policy.outOfOrder.beyondUs
        }
    }
    marks.foldLeft(Watermark.NotYet)(math.max(_, _))
  }
}
