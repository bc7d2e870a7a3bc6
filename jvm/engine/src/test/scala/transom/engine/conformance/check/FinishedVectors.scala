package transom.engine.conformance.check

import java.time.Instant

import transom.engine.conformance.driver._
import transom.engine.conformance.vector.{Json, Malformed, Unsupported}
import transom.engine.spec._
import transom.engine.state.Limits
import transom.engine.window.{Closed, GridWindow, RowContext, SessionWindow, Window, Windows}

/** Runs the vectors of Azure Stream Analytics and StreamInsight whose input is finished and whose
  * times no policy moves. A tick of these vectors is a millisecond, so the engine counts
  * milliseconds.
  */
object FinishedVectors {

  /** The columns that are not in the rows of a vector. */
  private val added = Seq("id", "seq", "event_time", "start", "end")

  /** A row of a stage. */
  private final case class Input(start: Long, end: Option[Long], columns: Map[String, Any])

  def run(vector: Json): Outcome = {
    val isAzure = vector("system").string == "asa"
    val policy = vector("policy")
    val rows = vector("events").elements.map(inputOf(_, policy, isAzure))
    val until = policy.get("final_cti").fold(Long.MaxValue)(millis)
    val got =
      if (vector.has("stages"))
        vector("stages").elements.foldLeft(rows)((rows, stage) =>
          results(stage, stage("windows"), rows, isAzure, until).map { result =>
            Input(end(result), None, result)
          })
      else
        results(policy, vector("windows"), rows, isAzure, until).map(Input(0L, None, _))
    val expected = vector("expected")("outputs").elements.map { output =>
      (fieldsOf(output) -- Seq("why", "start", "end")).map { case (name, value) =>
        name -> sorted(value)
      }
    }
    val shown = got.map(_.columns.map {
      case (name @ ("window_start" | "window_end"), time: Long) => name -> instant(time)
      case (name, value) => name -> sorted(value)
    })
    Outcome.of(Outcome.compareInAnyOrder("outputs", expected, shown).toSeq)
  }

  private def inputOf(event: Json, policy: Json, isAzure: Boolean): Input = {
    val columns = event.get("payload").fold(Map.empty[String, Any])(fieldsOf) ++
      fieldsOf(event) - "payload"
    val start = millis(event(if (isAzure) "event_time" else "start"))
    val end = policy
      .get("alter_duration_ms")
      .map(start + _.long)
      .orElse(
        event.get("end").map(end => if (end.string == "+inf") RowContext.NoEnd else millis(end)))
    Input(start, end, columns)
  }

  /** Runs a stage over a finished input. */
  private def results(
      stage: Json,
      windows: Json,
      rows: Seq[Input],
      isAzure: Boolean,
      until: Long): Seq[Map[String, Any]] = {
    val keys = stage.get("group_by").fold(Seq.empty[String])(_.elements.map(_.string))
    val hasLifetimes = rows.exists(_.end.isDefined)
    val spec = Specs
      .of(windowOf(windows, isAzure))
      .copy(lifetime = Option.when(hasLifetimes)(Lifetime(endColumn = Some(0))))
    val operator = spec.window match {
      case _: GridWindow | _: Windows if LayoutRules.unsupportedBySlices(spec).isEmpty =>
        new GridOperator(spec, GridOperator.SmallBundles)
      case _: Windows => new SeveralRunner(spec, Limits.Default)
      case _: SessionWindow => new KeyedRunner(spec)
      case _ => new SweepRunner(spec)
    }
    val input = rows.zipWithIndex.map { case (row, i) =>
      val key = Json.parse(Json.show(keys.map(row.columns)))
      val value = Json.parse(
        Json.show(
          row.columns + ("start" -> row.start) + ("end" -> row.end.getOrElse(row.start + 1))))
      Row(key, value, Some(row.start), i.toLong, end = row.end.getOrElse(row.start + 1))
    }
    operator.process(input, Long.MinValue)
    operator.fire(until).flatMap { fired =>
      val bounds = Map[String, Any](
        "window_start" -> (if (isSnapshot(windows) && isAzure) fired.window.end
                           else fired.window.start),
        "window_end" -> fired.window.end) ++ idOf(spec.window, fired)
      val front = bounds ++ keys.zip(fired.key.elements.map(_.value))
      valuesOf(stage, fired).map(front ++ _).filter(having(stage))
    }
  }

  private def isSnapshot(windows: Json): Boolean =
    !VectorWindows.isSeveral(windows) && windows("type").string == "snapshot"

  private def idOf(window: Window, fired: Fired): Map[String, Any] = window match {
    case Windows(members) => members(fired.member).id.map("window_id" -> _).toMap
    case _ => Map.empty
  }

  private def windowOf(windows: Json, isAzure: Boolean): Window =
    new VectorWindows(if (isAzure) Closed.Right else Closed.Left, perMillisecond = 1).of(windows)

  /** The rows that a window emits. */
  private def valuesOf(stage: Json, fired: Fired): Seq[Map[String, Any]] =
    stage.get("top_k") match {
      case Some(top) => firstRows(top, fired.values)
      case None =>
        Seq(stage("aggregates").elements.map { query =>
          query("as").string -> Aggregates.of(query, fired)
        }.toMap)
    }

  private def firstRows(top: Json, rows: Seq[Json]): Seq[Map[String, Any]] = {
    val field = top("field").string
    def value(row: Json): Option[BigDecimal] = row.get(field).flatMap(numberOf)
    val largest = Ordering[Option[BigDecimal]]
    val first = if (top("desc").boolean) largest.reverse else largest
    rows.flatMap { row =>
      val rank = 1 + rows.count(other => first.lt(value(other), value(row)))
      Option.when(rank <= top("k").long)(
        Map(field -> row(field).value, "id" -> row("id").value, "rank" -> rank.toLong))
    }
  }

  private def having(stage: Json)(row: Map[String, Any]): Boolean =
    stage.get("having").forall { condition =>
      condition("op").string match {
        case ">=" =>
          BigDecimal(row(condition("field").string).toString) >= condition("value").number
        case other => throw new Malformed(s"unknown comparison $other")
      }
    }

  private def fieldsOf(json: Json): Map[String, Any] = json.value.asInstanceOf[Map[String, Any]]

  /** The rows of a window have no order, so lists are compared in any order. */
  private def sorted(value: Any): Any = value match {
    case items: Seq[_] => items.sortBy(Json.show)
    case other => other
  }

  private def end(result: Map[String, Any]): Long = result("window_end").asInstanceOf[Long]

  private def numberOf(value: Json): Option[BigDecimal] =
    Option.unless(value.value == null)(value.number)

  private def millis(time: Json): Long = Instant.parse(time.string).toEpochMilli

  private def instant(millis: Long): String = Instant.ofEpochMilli(millis).toString

  /** The aggregates of vectors. Null counts as 0 in sums, as in StreamInsight. */
  private object Aggregates {

    def of(query: Json, fired: Fired): Any = {
      def fields: Seq[Json] = fired.values.map(_(query("field").string))
      def numbers: Seq[BigDecimal] = fields.flatMap(numberOf)
      def normal(value: BigDecimal): Any = Json.normal(value)
      query("fn").string match {
        case "count" => fired.values.size.toLong
        case "count_distinct" => fields.distinct.size.toLong
        case "sum" => normal(numbers.sum)
        case "min" => numbers.minOption.map(normal).orNull
        case "max" => numbers.maxOption.map(normal).orNull
        case "avg" => if (numbers.isEmpty) null else normal(numbers.sum / numbers.size)
        case "ids" => fields.map(_.value)
        case "top_one" =>
          fieldsOf(fired.values.maxBy(_(query("field").string).string)) -- added
        case "clipped" =>
          fired.values.map { row =>
            val (start, end) = clipped(row, fired)
            Map("id" -> row("id").value, "start" -> instant(start), "end" -> instant(end))
          }
        case "twa" =>
          normal(fired.values.map { row =>
            val (start, end) = clipped(row, fired)
            row(query("field").string).number * (end - start)
          }.sum / (fired.window.end - fired.window.start))
        case other => Unsupported(s"the aggregate $other is not run at this level")
      }
    }

    private def clipped(row: Json, fired: Fired): (Long, Long) = (
      math.max(row("start").long, fired.window.start),
      math.min(row("end").long, fired.window.end))
  }
}
