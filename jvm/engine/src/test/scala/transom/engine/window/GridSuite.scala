package transom.engine.window

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}
import java.time.{LocalDateTime, ZoneOffset}

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.{forAll, propBoolean}
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.time.{Watermark, Zone}

class GridSuite extends ScalaCheckSuite {

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(2000))

  private val Hour = 3600000000L
  private val Day = 24 * Hour

  private def at(text: String): Long =
    GridModel.toMicros(LocalDateTime.parse(text).toInstant(ZoneOffset.UTC))

  property("a row belongs to exactly the windows that the model lists") {
    forAll(Generators.gridAndInstant) { case (spec, time) =>
      assertEquals(spec.grid.windowsOf(time), GridModel.windows(spec, time))
    }
  }

  property("a row has no slice exactly when it has no window") {
    forAll(Generators.gridAndInstant) { case (spec, time) =>
      val slice = spec.grid.sliceOf(time)
      assertEquals(slice == Grid.NoSlice, GridModel.windows(spec, time).isEmpty)
    }
  }

  property("a slice contains the local time of its row") {
    forAll(Generators.gridAndInstant) { case (spec, time) =>
      val grid = spec.grid
      val slice = grid.sliceOf(time)
      val local = GridModel.local(time, spec.timeZone)
      (slice != Grid.NoSlice) ==> TimeWindow(slice, grid.sliceEnd(slice)).contains(local)
    }
  }

  property("windows are made of whole slices") {
    forAll(Generators.gridAndInstant) { case (spec, time) =>
      val grid = spec.grid
      grid.windowsOf(time).foreach { window =>
        assertEquals(grid.sliceEnd(window.start - 1), window.start)
        assertEquals(grid.sliceEnd(window.end - 1), window.end)
      }
    }
  }

  property("the last end by an instant is the largest such end of the windows of a row") {
    forAll(Generators.gridAndInstant, Gen.choose(-3 * Day, 3 * Day)) {
      case ((spec, time), distance) =>
        val grid = spec.grid
        val slice = grid.sliceOf(time)
        val ends = GridModel.windows(spec, time).map(grid.endOf)
        val some = ends.take(3) ++ ends.takeRight(3)
        val instants = (time + distance) +: some.flatMap(end => Seq(end - 1, end))
        (slice != Grid.NoSlice) ==> instants.foreach { instant =>
          val expected = ends.filter(_ <= instant).maxOption.getOrElse(Watermark.NotYet)
          assertEquals(grid.lastEndBy(slice, instant), expected)
        }
    }
  }

  property("a row lies between the instants at which its windows begin and end") {
    forAll(Generators.gridAndInstant) { case (spec, time) =>
      val grid = spec.grid
      grid.windowsOf(time).foreach { window =>
        assert(grid.instantOf(window.start) <= time)
        assert(time < grid.endOf(window))
      }
    }
  }

  property("the first window after a watermark is the first that has not ended") {
    forAll(Generators.gridAndInstant, Generators.gridAndInstant) {
      case ((spec, time), (_, other)) =>
        val grid = spec.grid
        val windows = grid.windowsOf(time)
        val ends = windows.map(grid.endOf)
        val watermarks = Seq(time, other, time + other % Day) ++ ends ++ ends.map(_ - 1)
        if (windows.nonEmpty) {
          watermarks.foreach { watermark =>
            assertEquals(
              Option(grid.firstWindow(grid.sliceOf(time), watermark)),
              windows.find(grid.endOf(_) > watermark))
          }
        }
    }
  }

  property("the first window after an instant is the first of any row that ends after it") {
    forAll(Generators.gridAndInstant) { case (spec, time) =>
      val grid = spec.grid
      val own = GridModel.windows(spec, time)
      // The instants around the bounds of windows are also in the gaps between windows.
      val bounds = own.flatMap(window => Seq(grid.instantOf(window.start), grid.endOf(window)))
      (time +: bounds.flatMap(bound => Seq(bound - 1, bound, bound + 1))).foreach { instant =>
        assertEquals(
          grid.firstAfter(instant),
          GridModel.firstAfter(spec, instant, grid.endOf),
          instant)
      }
    }
  }

  property("rows are late from the end of the last of their windows") {
    forAll(Generators.gridAndInstant) { case (spec, time) =>
      val grid = spec.grid
      grid.windowsOf(time).lastOption.foreach { last =>
        assertEquals(grid.lastEndOf(grid.sliceOf(time)), grid.endOf(last))
      }
    }
  }

  property("windows follow each other in the order of their ends") {
    forAll(Generators.gridAndInstant) { case (spec, time) =>
      val grid = spec.grid
      grid.windowsOf(time).headOption.foreach { first =>
        val windows = Iterator.iterate(first)(grid.nextWindow).take(50).toSeq
        windows.zip(windows.tail).foreach { case (before, after) =>
          assert(grid.endOf(before) <= grid.endOf(after))
          assert(before.end < after.end || before.start < after.start)
        }
      }
    }
  }

  property("a grid that was serialized gives the same slices") {
    forAll(Generators.gridAndInstant) { case (spec, time) =>
      val grid = spec.grid
      val slice = grid.sliceOf(time)
      val bytes = new ByteArrayOutputStream
      new ObjectOutputStream(bytes).writeObject(grid)
      val copy = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject
      assertEquals(copy.asInstanceOf[Grid].sliceOf(time), slice)
    }
  }

  test("times before 1970 and negative offsets round down") {
    assertEquals(new TumblingGrid(7, 0, Zone.Utc).sliceOf(-8), -14L)
    assertEquals(new TumblingGrid(7, -2, Zone.Utc).sliceOf(-12), -16L)
  }

  test("a slide above the size leaves gaps") {
    val grid = Hopping(sizeUs = 2, slideUs = 5).grid
    assertEquals((0L to 5L).map(grid.windowsOf(_).size), Seq(1, 1, 0, 0, 0, 1))
  }

  test("the first window after an instant in a gap starts after the gap") {
    val grid = Hopping(sizeUs = 2, slideUs = 5).grid
    assertEquals(
      (-1L to 7L).map(grid.firstAfter(_).start),
      Seq(0L, 0L, 0L, 5L, 5L, 5L, 5L, 5L, 10L))
  }

  test("a slide that does not divide the size cuts slices at both bounds") {
    val grid = Hopping(sizeUs = 5, slideUs = 2).grid
    assertEquals(grid.windowsOf(4), Seq(TimeWindow(0, 5), TimeWindow(2, 7), TimeWindow(4, 9)))
    assertEquals(grid.sliceEnd(grid.sliceOf(4)), 5L)
  }

  test("four hours last three or five on the days when clocks change") {
    val grid = Tumbling(4 * Hour, timeZone = "America/New_York").grid
    def length(time: String) = {
      val window = grid.windowsOf(at(time)).head
      grid.endOf(window) - grid.instantOf(window.start)
    }
    assertEquals(length("2021-03-14T06:00:00"), 3 * Hour)
    assertEquals(length("2021-11-07T06:00:00"), 5 * Hour)
  }

  test("a cumulative window is not repeated for an hour that clocks skip") {
    val grid = Cumulate(4 * Hour, Hour, timeZone = "America/Los_Angeles").grid
    val windows = grid.windowsOf(at("2021-03-14T08:30:00"))
    assertEquals(windows.map(window => (window.end - window.start) / Hour), Seq(1L, 2L, 4L))
  }

  test("a window that ends in the repeated hour waits for its second time") {
    val grid = Tumbling(Hour / 2, timeZone = "America/New_York").grid
    val window = grid.windowsOf(at("2021-11-07T05:10:00")).head
    assertEquals(grid.windowsOf(at("2021-11-07T06:10:00")), Seq(window))
    assertEquals(grid.instantOf(window.start), at("2021-11-07T05:00:00"))
    assertEquals(grid.endOf(window), at("2021-11-07T06:30:00"))
  }

  test("a window that ends at the time to which clocks go back ends when it is first shown") {
    // At 06:00 UTC the clock goes back from 02:00 to 01:00, which it first shows at 05:00 UTC.
    val grid = Tumbling(Hour / 2, timeZone = "America/New_York").grid
    val before = grid.windowsOf(at("2021-11-07T04:40:00")).head
    val after = grid.nextWindow(before)
    assertEquals(grid.endOf(before), at("2021-11-07T05:00:00"))
    assertEquals(grid.instantOf(after.start), at("2021-11-07T05:00:00"))
  }

  test("a window that starts in the repeated hour starts when clocks first show it") {
    val grid = Tumbling(Hour / 2, timeZone = "America/New_York").grid
    val window = grid.windowsOf(at("2021-11-07T05:40:00")).head
    assertEquals(grid.windowsOf(at("2021-11-07T06:40:00")), Seq(window))
    assertEquals(grid.instantOf(window.start), at("2021-11-07T05:30:00"))
    assertEquals(grid.endOf(window), at("2021-11-07T07:00:00"))
  }

  test("a day is over when clocks that go back to midnight first show it") {
    // At 01:00 UTC the clock of the Azores goes back from 01:00 to 00:00.
    val grid = Calendar(CalendarUnit.Day, "Atlantic/Azores").grid
    val before = grid.windowsOf(at("2024-10-26T12:00:00")).head
    assertEquals(grid.endOf(before), at("2024-10-27T00:00:00"))
    val repeated = grid.windowsOf(at("2024-10-27T00:30:00")).head
    assertEquals(grid.windowsOf(at("2024-10-27T01:30:00")), Seq(repeated))
    assertEquals(grid.endOf(repeated) - grid.instantOf(repeated.start), 25 * Hour)
  }

  test("a day is not over while clocks that reach midnight go back before it") {
    // At 02:00 UTC the clock of São Paulo goes back from midnight to 23:00.
    val grid = Calendar(CalendarUnit.Day, "America/Sao_Paulo").grid
    val day = grid.windowsOf(at("2018-02-18T01:30:00")).head
    assertEquals(grid.windowsOf(at("2018-02-18T02:30:00")), Seq(day))
    assertEquals(grid.endOf(day), at("2018-02-18T03:00:00"))
    assertEquals(grid.endOf(day) - grid.instantOf(day.start), 25 * Hour)
  }

  test("the day that Samoa left out is a window of no length") {
    val grid = Calendar(CalendarUnit.Day, "Pacific/Apia").grid
    val last = grid.windowsOf(at("2011-12-30T09:59:59")).head
    val skipped = grid.nextWindow(last)
    assertEquals(skipped.start, at("2011-12-30T00:00:00"))
    assertEquals(grid.instantOf(skipped.start), grid.endOf(skipped))
    assertEquals(grid.windowsOf(at("2011-12-30T10:00:00")), Seq(grid.nextWindow(skipped)))
  }

  test("windows at the ends of time neither wrap around nor repeat for ever") {
    Seq(
      Tumbling(1000),
      Hopping(2500, 1000),
      Cumulate(3000, 1000),
      Calendar(CalendarUnit.Month, "UTC"),
      Calendar(CalendarUnit.Day, "Asia/Tokyo")).foreach { spec =>
      val grid = spec.grid
      Seq(Long.MinValue, Long.MinValue + 1, Long.MaxValue - 1).foreach { time =>
        val windows = grid.windowsOf(time)
        assert(windows.nonEmpty)
        windows.foreach(window => assert(window.start < window.end))
        assertEquals(grid.firstWindow(grid.sliceOf(time), Long.MaxValue), null)
      }
      val last = grid.windowsOf(Long.MaxValue - 1).last
      assert(Iterator.iterate(last)(grid.nextWindow).take(10).contains(null))
    }
  }
}
