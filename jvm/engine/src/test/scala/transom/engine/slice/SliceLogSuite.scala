package transom.engine.slice

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalacheck.Prop.{forAll, forAllNoShrink}
import org.scalacheck.Test.Parameters

import transom.engine.conformance.driver.{Fired, GridOperator, Operator, Row, RowList, Specs}
import transom.engine.conformance.vector.Json
import transom.engine.state.{CountingStore, Limits, MemoryStore, SliceDirectory}
import transom.engine.window.{Calendar, Cumulate, Grid, GridModel, GridWindow, Hopping, TimeWindow, Tumbling}
import transom.engine.{Generators, LogTest, Model}

class SliceLogSuite extends LogTest {

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(1000))

  private final class GridContents(spec: GridWindow, grid: Grid) extends Model {
    private val open = mutable.LinkedHashMap.empty[(String, TimeWindow), Vector[Json]]

    override def process(rows: Seq[Row], watermark: Long): Seq[Row] = rows.filter { row =>
      val windows = GridModel.windows(spec, row.time.get)
      val accepting = windows.filter(grid.endOf(_) > watermark)
      accepting.foreach { window =>
        open.updateWith((row.key.string, window))(held =>
          Some(held.getOrElse(Vector.empty) :+ row.value))
      }
      accepting.isEmpty && (windows.nonEmpty || row.time.get < watermark)
    }

    override def fire(watermark: Long): Seq[Fired] = {
      val ended = open.keys.filter { case (_, window) =>
        grid.endOf(window) <= watermark
      }.toVector
      ended.map { case (key, window) =>
        val bounds = TimeWindow(grid.instantOf(window.start), grid.endOf(window))
        Fired(LogTest.json(key), bounds, open.remove((key, window)).get)
      }
    }

    override def nextTimer: Long =
      open.keys.map { case (_, window) => grid.endOf(window) }.minOption.getOrElse(Long.MaxValue)
  }

  private val fewWindows: Gen[(GridWindow, Long)] = Generators.gridAndInstant.suchThat {
    case (spec, time) => GridModel.windows(spec, time).size <= 40
  }

  private def reachOf(spec: GridWindow): Long = spec match {
    case Tumbling(size, _, _, _, _) => 3 * size
    case Hopping(size, slide, _, _, _) => 2 * size.max(slide)
    case Cumulate(size, _, _, _, _) => 2 * size
    case Calendar(unit, _, every, _, _, _) => 3 * every * unit.shortestUs
    case other => throw new IllegalArgumentException(s"$other")
  }

  property("windows fire with the rows that the model expects, at any watermarks") {
    forAllNoShrink(fewWindows) { case (spec, time) =>
      val grid = spec.grid
      forAll(steps(time, reachOf(spec))) { steps =>
        compare(steps, time, new GridOperator(spec), new GridContents(spec, grid))
      }
    }
  }

  property("windows of many slices fire with their rows, alone or together") {
    val longWindows = for {
      slide <- Gen.choose(1L, 3L)
      size <- Gen.choose(12L * slide, 90L)
      offset <- Gen.choose(1 - slide, slide - 1)
    } yield Hopping(size, slide, offset)
    // With little memory, only some windows share their merges.
    val room = Gen.oneOf(300L, 1000L, Limits.Default.shared)
    forAllNoShrink(longWindows, Gen.choose(-1000L, 1000L), room) { (spec, time, room) =>
      val grid = spec.grid
      forAll(steps(time, 2 * spec.sizeUs)) { steps =>
        val limits = GridOperator.SmallBundles.copy(shared = room)
        compare(
          steps,
          time,
          new GridOperator(Specs.of(spec), limits),
          new GridContents(spec, grid))
      }
    }
  }

  test("a window that fires alone reads a few blocks, not all of its slices") {
    val memory = new MemoryStore
    val store = new CountingStore(memory)
    def withLog[A](body: SliceLog[Fired] => A): A = {
      val slices = new SliceDirectory(store)
      val answer =
        body(new SliceLog(Hopping(256, 1).grid, slices, new RowList, Limits.Default.shared))
      slices.save()
      answer
    }
    val reads = (0 until 1000).map { time =>
      val row = Row(LogTest.json("a"), LogTest.json("x"), Some(time), time)
      val segment = Operator.segment(Seq(row)) { (writer, row) =>
        writer.append(row.hash, row.keyBytes, row.accumulator)
      }
      withLog(_.append(time, segment, Long.MinValue))
      store.reads = 0
      val fired = withLog(_.fire(time + 1L).toVector)
      assertEquals(fired.map(_.values.size), Vector(math.min(time + 1, 256)))
      store.reads
    }
    // A window merges at most three blocks of each of four levels at each end. Building a block
    // of each level takes four reads.
    assert(reads.max <= 40, reads.max)
    assert(reads.sum <= 20 * reads.length, reads.sum)
    withLog(_.fire(Long.MaxValue).foreach(_ => ()))
    assertEquals(memory.size, 0)
  }

  property("windows fire in the order of their ends") {
    forAllNoShrink(fewWindows, Gen.listOfN(20, Gen.choose(-50L, 50L))) {
      case ((spec, time), shifts) =>
        val operator = new GridOperator(spec)
        val rows = shifts.zipWithIndex.map { case (shift, i) =>
          Row(
            LogTest.json("a"),
            LogTest.json("x"),
            Some(time + shift * reachOf(spec) / 30),
            i.toLong)
        }
        operator.process(rows, Long.MinValue)
        val ends = operator.fire(Long.MaxValue).map(_.window.end)
        assertEquals(ends, ends.sorted)
    }
  }

  test("a slice merges all of its large segments") {
    val operator = new GridOperator(Hopping(20, 10))
    val text = "x" * 300000
    val rows = (1 to 30).map { i =>
      Row(LogTest.json(s"k${i % 7}"), LogTest.json(text), Some(5), i.toLong)
    }
    rows.foreach(row => operator.process(Seq(row), Long.MinValue))
    val fired = operator.fire(10) ++ operator.fire(Long.MaxValue)
    assertEquals(fired.map(_.values.size).sum, 60)
    assert(operator.isEmpty)
  }
}
