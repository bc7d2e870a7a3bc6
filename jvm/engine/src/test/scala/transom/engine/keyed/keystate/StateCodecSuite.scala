package transom.engine.keyed.keystate

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.conformance.driver.JsonAggregation
import transom.engine.conformance.vector.Json
import transom.engine.firing.TriggerMemory
import transom.engine.state.{MemoryState, StateReader, StateWriter, UnknownStateVersion}
import transom.engine.window.TimeWindow

/** Tests what restarts do not cover. KeyedOperatorPropertiesSuite restarts the operator at each
  * step.
  */
class StateCodecSuite extends ScalaCheckSuite {

  private val aggregation = new JsonAggregation(_.map(_.value))

  private def codec = new StateCodec(aggregation)

  private val numbers: Gen[Long] =
    Gen.oneOf(Gen.choose(-200L, 200L), Gen.long, Gen.oneOf(Long.MinValue, Long.MaxValue, 0L))

  property("numbers are read as they were written") {
    forAll(Gen.listOf(numbers)) { numbers =>
      val out = new StateWriter
      numbers.foreach { number =>
        out.signed(number)
        out.unsigned(number)
      }
      val in = new StateReader(out.take())
      numbers.foreach { number =>
        assertEquals(in.signed(), number)
        assertEquals(in.unsigned(), number)
      }
    }
  }

  property("decoding restores windows with their timers and results") {
    forAll(Gen.nonEmptyListOf(Gen.zip(numbers, numbers, numbers))) { bounds =>
      val state = new KeyState[Vector[Json]]
      bounds.foreach { case (start, end, timer) =>
        val window = new WindowState[Vector[Json]](TimeWindow(start, end))
        window.watermarkTimers.add(timer)
        window.clockTimers.add(end)
        window.endsSilently = timer % 2 == 0
        window.lastEmitted = List(new EmittedResult(TimeWindow(timer, start), Array(3)))
        window.memory = Array(TriggerMemory.Unset, timer & Long.MaxValue)
        state.add(window)
      }
      val read = codec.decode(codec.encode(state))
      assertEquals(read.size, state.size)
      state.windows.forEach { (bounds, window) =>
        val got = read.windows.get(bounds)
        assertEquals(got.watermarkTimers.first, window.watermarkTimers.first)
        assertEquals(got.clockTimers.first, window.clockTimers.first)
        assertEquals(got.lastEmitted.map(_.bounds), window.lastEmitted.map(_.bounds))
        assertEquals(got.memory.toSeq, window.memory.toSeq)
        assertEquals(got.endsSilently, window.endsSilently)
      }
    }
  }

  test("an accumulator that is not read is copied without decoding") {
    val state = new KeyState[Vector[Json]]
    val window = new WindowState[Vector[Json]](TimeWindow(0, 10))
    window.setAccumulator(Vector(Json.parse("1")))
    state.add(window)
    val read = codec.decode(codec.encode(state))
    assertEquals(codec.encode(read).toSeq, codec.encode(state).toSeq)
    assert(read.windows.firstEntry.getValue.accumulator == null)
  }

  test("a window that fires at its end needs few bytes in addition to its accumulator") {
    val state = new KeyState[Vector[Json]]
    val window = new WindowState[Vector[Json]](TimeWindow(1700000000000000L, 1700003600000000L))
    window.watermarkTimers.add(window.bounds.end)
    state.add(window)
    assert(codec.encode(state).length < 24)
  }

  test("state of another format version is rejected") {
    val bytes = codec.encode(new KeyState[Vector[Json]])
    bytes(0) = 9
    val error = intercept[UnknownStateVersion](codec.decode(bytes))
    assertEquals(error.version, 9)
    assert(error.getMessage.contains("has format 9, this version reads 4:"), error.getMessage)
  }

  test("a timer index of another format version is rejected") {
    val state = new MemoryState
    val store = new TimerStore(state.value("header"), state.map("entries"))
    val timers = new TimerIndex(store)
    timers.add(5L, Array[Byte](1))
    timers.save()
    assertEquals(new TimerIndex(store).first, 5L)
    store.header.get(0) = 9
    assertEquals(intercept[UnknownStateVersion](new TimerIndex(store)).version, 9)
  }
}
