package transom.engine.time

import java.time.{DateTimeException, ZoneId}

import munit.ScalaCheckSuite
import org.scalacheck.{Gen, Prop}
import org.scalacheck.Prop.forAll
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.window.GridModel

class ZoneSuite extends ScalaCheckSuite {

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(5000))

  private val Hour = 3600000000L

  // Alaska and the Philippines crossed the date line: one repeated a day, the other skipped one.
  private val zones = Gen.oneOf(
    Generators.zone,
    Gen.oneOf("America/Juneau", "Asia/Manila", "Africa/Monrovia", "Europe/Dublin"))

  private val cases: Gen[(String, Long)] =
    for { zone <- zones; time <- Generators.instant(zone) } yield (zone, time)

  private def soonAfter(zone: String, instant: Long): Seq[Long] = {
    val rules = ZoneId.of(zone).getRules
    val changes = Iterator
      .iterate(rules.nextTransition(GridModel.toInstant(instant)))(change =>
        rules.nextTransition(change.getInstant))
      .takeWhile(_ != null)
      .take(4)
      .map(change => GridModel.toMicros(change.getInstant))
      .toSeq
    Seq(0L, 1L, Hour / 2, Hour, 25 * Hour).map(instant + _) ++
      changes.flatMap(change => Seq(change - 1, change, change + 1))
  }

  property("local time agrees with java.time") {
    forAll(cases) { case (zone, time) =>
      assertEquals(Zone.of(zone).local(time), GridModel.local(time, zone))
    }
  }

  property("reached is the earliest local time from an instant on") {
    forAll(cases) { case (name, time) =>
      val zone = Zone.of(name)
      val later = soonAfter(name, time).filter(_ >= time)
      assertEquals(later.map(GridModel.local(_, name)).min, zone.reached(time))
    }
  }

  property("passed is the first instant that has reached a local time") {
    forAll(cases) { case (name, time) =>
      val zone = Zone.of(name)
      Seq(zone.local(time), time).foreach { local =>
        val passed = zone.passed(local)
        assert(zone.reached(passed) >= local)
        assert(zone.reached(passed - 1) < local)
      }
    }
  }

  property("the first instant of a time shows this time or, in a gap, a later time") {
    forAll(cases) { case (name, time) =>
      val zone = Zone.of(name)
      Seq(zone.local(time), time).foreach { local =>
        val first = zone.first(local)
        assert(GridModel.local(first, name) >= local)
        assert(GridModel.local(first - 1, name) < local)
        assert(first <= zone.passed(local))
      }
    }
  }

  property("a zone without clock changes has one instant for each time") {
    forAll(Gen.choose(Long.MinValue / 2, Long.MaxValue / 2)) { time =>
      val zone = Zone.of("Asia/Kolkata")
      val modern = Math.abs(time)
      Prop(zone.first(zone.local(modern)) == modern && zone.passed(zone.local(modern)) == modern)
    }
  }

  test("short zone names have the same meaning as in Spark") {
    assertEquals(Zone.of("PST").id.getId, "America/Los_Angeles")
  }

  test("an unknown name is rejected") {
    intercept[DateTimeException](Zone.of("Europe/Atlantis"))
  }
}
