package org.apache.spark.sql.transom.message

import java.time.DayOfWeek

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import munit.ScalaCheckSuite
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.transom.TestSpecs
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.Generators
import transom.engine.firing._
import transom.engine.setting.Durations
import transom.engine.spec._
import transom.engine.window._

class SpecCodecSuite extends ScalaCheckSuite {

  private val mapper = new ObjectMapper

  private val spec = TestSpecs.hours

  private val columns = Gen.listOf(Gen.choose(0, 50))

  private val flag = Gen.oneOf(true, false)
  private val column = Gen.choose(0, 9)
  private val length = Gen.choose(1L, Durations.LongestUs)
  private val threshold = Gen.choose(-1e6, 1e6)

  private val plainTrigger: Gen[Trigger] = Gen.oneOf[Trigger](
    Gen.choose(1, 9).map(AfterCount),
    Gen.oneOf(EndOfStream, Never),
    Gen.zip(column, threshold).map((AfterDelta.apply _).tupled),
    Gen
      .zip(length, Gen.oneOf(TriggerClock.Event, TriggerClock.Processing), flag)
      .map((Every.apply _).tupled),
    column.map(When))

  private val trigger: Gen[Trigger] = Gen.oneOf(
    plainTrigger,
    Gen.oneOf(AfterClock, AfterLateness, EveryBatch),
    plainTrigger.map(Purging),
    Gen.zip(plainTrigger, length, flag, flag).map((ProcessingTimeout.apply _).tupled),
    Gen
      .zip(Gen.option(plainTrigger), Gen.option(plainTrigger))
      .map((AfterWatermark.apply _).tupled))

  private val eviction = Gen.oneOf(Eviction.Before, Eviction.After)

  private val evictor: Gen[Evictor] = Gen.oneOf(
    Gen.zip(Gen.choose(1, 9), eviction).map((KeepLast.apply _).tupled),
    Gen.zip(length, eviction).map((KeepRecent.apply _).tupled),
    Gen.zip(column, threshold, eviction).map((KeepNear.apply _).tupled),
    Gen.zip(column, eviction).map((KeepWhere.apply _).tupled))

  private val closed = Gen.oneOf(Closed.Left, Closed.Right)
  private val lateStart = Gen.oneOf(LateStart.Open, LateStart.Reject)
  private val longest: Gen[(Option[Long], MaxCheck)] = Gen.oneOf(
    Gen.const((None, MaxCheck.AtLeast)),
    Gen.zip(length.map(Some(_)), Gen.oneOf(MaxCheck.AtLeast, MaxCheck.Above)))
  private val stagger = Gen.oneOf(Stagger.Aligned, Stagger.Random, Stagger.Natural)

  private val window: Gen[Window] = Gen.oneOf(
    Generators.grid,
    Gen.zip(length, stagger).map { case (size, moved) => Tumbling(size, stagger = moved) },
    Gen
      .zip(length, flag, closed, lateStart, longest)
      .map { case (gap, inclusive, closed, lateStart, (longest, check)) =>
        Session(gap, inclusive, closed, lateStart, longest, check)
      },
    Gen
      .zip(column, flag, closed, lateStart, longest)
      .map { case (gap, inclusive, closed, lateStart, (longest, check)) =>
        DynamicSession(gap, inclusive, closed, lateStart, longest, check)
      },
    Gen.zip(Gen.choose(1, 9), Gen.option(Gen.choose(1, 9)), flag).map((Count.apply _).tupled),
    Gen.zip(column, flag).map((Custom.apply _).tupled),
    Gen.const(Global))

  private val time: Gen[Time] = Gen.oneOf(
    Gen
      .zip(column, Gen.option(Gen.choose(0L, Durations.LongestUs)))
      .map((EventTime.apply _).tupled),
    Gen.const(ProcessingTime))

  /** Specs whose settings do not exclude each other. The constructor rejects all other specs. */
  private val together: Gen[WindowSpec] =
    Gen
      .zip(Gen.option(time), window, trigger, Gen.option(evictor), flag)
      .map { case (time, window, trigger, evictor, retract) =>
        val fires = window match {
          case count: Count => count.requiredTrigger
          case _ => trigger
        }
        Try(
          spec.copy(
            time = time,
            window = window,
            trigger = fires,
            evictor = evictor,
            retract = retract))
      }
      .retryUntil(_.isSuccess)
      .map(_.get)

  private def hasMaxDuration(window: Window): Boolean = window match {
    case session: SessionWindow => session.maxDurationUs.isDefined
    case _ => false
  }

  private val specs: Gen[WindowSpec] = for {
    parts <- together
    name <- Gen.option(Gen.nonEmptyListOf(Gen.alphaNumChar).map(_.take(100).mkString))
    keys <- columns
    order <- columns
    aggregates <- columns
    drain <- flag
    pane <- flag
    lateRows <- Gen.oneOf(LateRows.No, LateRows.Late, LateRows.Partly)
    deadLetters <- flag
    layout <- Gen.oneOf(Layout.Auto, Layout.Slices, Layout.Keyed)
    number <- Gen.choose(1, Int.MaxValue)
  } yield parts.copy(
    name = name,
    keyColumns = keys,
    orderColumns = order,
    function = AggFunction(aggregates),
    allowedLatenessUs = if (hasMaxDuration(parts.window) || !parts.time.exists(_.isEventTime)) 0L
    else number.toLong - 1,
    drain = drain,
    pane = pane,
    lateRows = lateRows,
    deadLetters = deadLetters,
    keyGroups = number,
    layout = layout,
    tickUs = number.toLong,
    rowLog = number)

  property("decoding an encoded spec returns the same spec") {
    forAll(specs)(spec => assertEquals(SpecCodec.decode(SpecCodec.encode(spec)), spec))
  }

  private def message(of: WindowSpec = spec): ObjectNode =
    mapper.readTree(SpecCodec.encode(of)).asInstanceOf[ObjectNode]

  private def fieldAtFault(message: String): String = {
    val error = intercept[IllegalArgumentException](SpecCodec.decode(message))
    val condition = error.asInstanceOf[SparkThrowable]
    assertEquals(condition.getCondition, "TRANSOM_BAD_SPEC")
    val field = condition.getMessageParameters.get("field")
    assert(error.getMessage.startsWith("[TRANSOM_BAD_SPEC]"))
    assert(error.getMessage.contains(field))
    field
  }

  private def fieldAtFault(change: ObjectNode => Unit, of: WindowSpec = spec): String = {
    val changed = message(of)
    change(changed)
    fieldAtFault(changed.toString)
  }

  private def window(message: ObjectNode): ObjectNode =
    message.get("window").asInstanceOf[ObjectNode]

  private def windowAtFault(window: Window)(change: ObjectNode => Unit): String =
    fieldAtFault(changed => change(this.window(changed)), spec.copy(window = window))

  test("each field of the message must be present") {
    message().fieldNames.asScala.toSeq.foreach { name =>
      assertEquals(fieldAtFault(_.remove(name)), name)
    }
  }

  test("each field of each window must be present") {
    Seq(
      Tumbling(10),
      Hopping(10, 5),
      Cumulate(10, 5),
      Calendar(CalendarUnit.Week, "Europe/Rome", firstDay = DayOfWeek.SUNDAY),
      Session(10),
      DynamicSession(3),
      Custom(3),
      Global).foreach { some =>
      window(message(spec.copy(window = some))).fieldNames.asScala.toSeq.foreach { name =>
        assertEquals(windowAtFault(some)(_.remove(name)), s"window.$name")
      }
    }
  }

  test("each field of each trigger and evictor must be present") {
    Seq(
      AfterWatermark(),
      AfterCount(5),
      AfterDelta(3, 0.5),
      Every(5),
      When(3),
      Purging(Never),
      ProcessingTimeout(Never, 5)).foreach { some =>
      missing(spec.copy(trigger = some), "trigger")
    }
    Seq(KeepLast(5), KeepRecent(5), KeepNear(3, 0.5), KeepWhere(3)).foreach { some =>
      missing(spec.copy(evictor = Some(some)), "evictor")
    }
  }

  private def missing(of: WindowSpec, part: String): Unit =
    message(of).get(part).fieldNames.asScala.toSeq.foreach { name =>
      val field = fieldAtFault(_.get(part).asInstanceOf[ObjectNode].remove(name): Unit, of)
      assertEquals(field, s"$part.$name")
    }

  test("an unknown field is rejected") {
    assertEquals(fieldAtFault(_.put("colour", 1)), "colour")
    assertEquals(windowAtFault(Global)(_.put("size_us", 1)), "window.size_us")
  }

  test("an unknown kind is rejected") {
    Seq("time", "window", "trigger", "function").foreach { name =>
      val field = fieldAtFault(_.get(name).asInstanceOf[ObjectNode].put("kind", "odd"))
      assertEquals(field, s"$name.kind")
    }
    assertEquals(
      fieldAtFault(_.get("trigger").get("late").asInstanceOf[ObjectNode].put("kind", "odd")),
      "trigger.late.kind")
  }

  test("values of a wrong type are rejected") {
    assertEquals(fieldAtFault(_.put("name", 5)), "name")
    assertEquals(fieldAtFault(_.put("key_groups", 1.5)), "key_groups")
    assertEquals(fieldAtFault(_.put("drain", "yes")), "drain")
    assertEquals(fieldAtFault(_.putArray("key_columns").add(1.5)), "key_columns")
    assertEquals(fieldAtFault(_.putArray("key_columns").add(-1)), "key_columns")
    assertEquals(fieldAtFault(_.put("late_rows", "all")), "late_rows")
    assertEquals(fieldAtFault(_.put("window", "tumbling")), "window")
    assertEquals(windowAtFault(Tumbling(5))(_.put("size_us", "5")), "window.size_us")
  }

  test("invalid windows are rejected") {
    assertEquals(windowAtFault(Tumbling(5))(_.put("size_us", 0)), "window.size_us")
    assertEquals(windowAtFault(Tumbling(5))(_.put("offset_us", 5)), "window.offset_us")
    assertEquals(windowAtFault(Hopping(5, 2))(_.put("offset_us", -2)), "window.offset_us")
    assertEquals(windowAtFault(Cumulate(4, 2))(_.put("step_us", 3)), "window.size_us")
    assertEquals(windowAtFault(Tumbling(5))(_.put("time_zone", "Mars")), "window.time_zone")
    assertEquals(fieldAtFault(_.put("key_groups", 0)), "key_groups")
  }

  test("another version is rejected before other fields are read") {
    assertEquals(fieldAtFault(_.put("version", 1).remove("window")), "version")
  }

  test("text that is not a message is rejected") {
    Seq("", "[]", "null", "{", """{"version": 2, "version": 2}""", s"${message()} x").foreach {
      text =>
        assertEquals(fieldAtFault(text), "message")
    }
  }
}
