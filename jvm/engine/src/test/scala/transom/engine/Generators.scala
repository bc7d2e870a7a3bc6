package transom.engine

import java.time.{DayOfWeek, Instant, ZoneId}

import org.scalacheck.Gen
import org.scalacheck.rng.Seed

import transom.engine.window.{Calendar, CalendarUnit, Cumulate, GridModel, GridWindow, Hopping, Tumbling}

/** Generators of times and grids. Many times are near a change of clocks. */
object Generators {

  private val Second = 1000000L
  private val Minute = 60 * Second
  private val Hour = 60 * Minute
  private val Day = 24 * Hour

  /** Number of cases to try: with TRANSOM_LONG 20 times as many, with TRANSOM_QUICK a third. */
  def cases(usual: Int): Int =
    if (sys.env.contains("TRANSOM_LONG")) 20 * usual
    else if (sys.env.contains("TRANSOM_QUICK")) usual / 3
    else usual

  /** The same values in each run, for tests of what a generator gives. */
  def samples[A](count: Int, gen: Gen[A]): Seq[A] =
    Seq.tabulate(count)(n => gen.pureApply(Gen.Parameters.default, Seed(n.toLong)))

  private val from = GridModel.toMicros(Instant.parse("1900-01-01T00:00:00Z"))
  private val until = GridModel.toMicros(Instant.parse("2100-01-01T00:00:00Z"))

  /** Time zones with changes of an hour, of half an hour, at midnight, and of a whole day. */
  val zone: Gen[String] = Gen.oneOf(
    "UTC",
    "America/New_York",
    "Europe/Rome",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Pacific/Kwajalein",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "+05:30")

  private val anyInstant: Gen[Long] =
    Gen.frequency(5 -> Gen.choose(from, until), 1 -> Gen.choose(-3 * Day, 3 * Day))

  def instant(zone: String): Gen[Long] = anyInstant.flatMap { any =>
    val transition = ZoneId.of(zone).getRules.nextTransition(GridModel.toInstant(any))
    if (transition == null) Gen.const(any)
    else {
      val change = GridModel.toMicros(transition.getInstant)
      Gen.frequency(
        2 -> Gen.const(any),
        4 -> Gen.choose(change - 5 * Hour, change + 5 * Hour),
        1 -> Gen.choose(change - 2 * Day, change + 2 * Day),
        1 -> Gen.oneOf(change - 1, change, change + 1, change - Hour, change + Hour))
    }
  }

  private val length: Gen[Long] =
    Gen.oneOf(
      Gen.choose(1L, 50L).map(_ * 5 * Minute),
      Gen.choose(1L, 30L).map(_ * Hour),
      Gen.oneOf(7 * Second, 61 * Second, 1001L * Second, Day, 7 * Day))

  private def below(length: Long): Gen[Long] =
    Gen.oneOf(Gen.const(0L), Gen.choose(-length + 1, length - 1), Gen.choose(-1L, 1L))

  private def tumbling(zone: String): Gen[GridWindow] =
    for { size <- length; offset <- below(size) } yield Tumbling(size, offset, timeZone = zone)

  private def hopping(zone: String): Gen[GridWindow] = for {
    slide <- length
    size <- Gen.oneOf(
      Gen.choose(1L, 12L).map(_ * slide),
      Gen.choose(1L, slide),
      Gen.choose(slide, 9 * slide),
      length.suchThat(_ <= 2000 * slide))
    offset <- below(slide)
  } yield Hopping(size, slide, offset, timeZone = zone)

  private def cumulate(zone: String): Gen[GridWindow] = for {
    step <- length
    steps <- Gen.choose(1L, 30L)
    offset <- below(steps * step)
  } yield Cumulate(steps * step, step, offset, timeZone = zone)

  private def calendar(zone: String): Gen[GridWindow] = for {
    unit <- Gen.oneOf(
      CalendarUnit.Day,
      CalendarUnit.Week,
      CalendarUnit.Month,
      CalendarUnit.Quarter,
      CalendarUnit.Year)
    every <- Gen.frequency(3 -> Gen.const(1), 2 -> Gen.choose(2, 10))
    firstDay <-
      if (unit == CalendarUnit.Week) Gen.oneOf(GridModel.weekDays)
      else Gen.const(DayOfWeek.MONDAY)
    offset <- Gen.oneOf(Gen.const(0L), Gen.choose(-23 * Hour, 23 * Hour))
  } yield Calendar(unit, zone, every, firstDay, offset)

  val grid: Gen[GridWindow] = zone.flatMap { zone =>
    Gen.oneOf(tumbling(zone), hopping(zone), cumulate(zone), calendar(zone))
  }

  /** A grid and a time. */
  val gridAndInstant: Gen[(GridWindow, Long)] =
    for { spec <- grid; time <- instant(spec.timeZone) } yield (spec, time)
}
