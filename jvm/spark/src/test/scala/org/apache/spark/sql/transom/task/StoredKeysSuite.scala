package org.apache.spark.sql.transom.task

import munit.ScalaCheckSuite
import org.apache.spark.sql.transom.TestSpecs
import org.scalacheck.{Gen, Test}
import org.scalacheck.Prop.forAll

import transom.engine.firing.{Every, TriggerClock}
import transom.engine.keyed.keystate.{KeyStore, TimerStore}
import transom.engine.state.{KeyGroupState, MemoryState}
import transom.engine.window.{Stagger, Tumbling}

/** The keys and timers of a key group in Spark's state store, compared with those in memory. */
class StoredKeysSuite extends ScalaCheckSuite {
  import StoredKeysSuite._

  // Each case opens a state store of its own.
  override protected def scalaCheckTestParameters: Test.Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(10).withMaxSize(30)

  private def timersIn(state: KeyGroupState) =
    new TimerStore(state.value("header"), state.map("entries"))

  private def entries(timers: TimerStore): Seq[(Long, Long, Seq[Byte])] =
    timers.entries.map(entry => (entry.timer, entry.number, entry.keys.toSeq)).toSeq

  property("the entries of a timer index come in order of time, then of number") {
    val times = Gen.oneOf(Gen.choose(-3L, 3L), Gen.oneOf(Long.MinValue, Long.MaxValue), Gen.long)
    val changes = Gen.zip(Gen.prob(0.8), times, Gen.oneOf(0L, 1L, 300L))
    forAll(Gen.listOf(changes)) { changes =>
      StateStoreHandle.using { state =>
        val stored = timersIn(new SparkKeyGroupState(state.handle))
        val model = timersIn(new MemoryState)
        state.select(1)
        changes.foreach { case (isPut, time, number) =>
          Seq(stored, model).foreach { timers =>
            if (isPut) timers.put(time, number, keyOf(number)) else timers.remove(time, number)
          }
        }
        assertEquals(entries(stored), entries(model))
      }
    }
  }

  test("rows of a key are found by their list and position") {
    StateStoreHandle.using { state =>
      val keys = new KeyStore(new SparkKeyGroupState(state.handle), TestSpecs.hours)
      state.select(1)
      val places = for {
        key <- 1L to 2L; list <- 0L to 1L; sequence <- Seq(0L, 1L, 256L)
      } yield (key, list, sequence)
      places.zipWithIndex.foreach { case ((key, list, sequence), i) =>
        keys.putRow(keyOf(key), list, sequence, keyOf(i.toLong))
      }
      keys.removeRow(keyOf(1L), 0L, 1L)
      places.zipWithIndex.foreach { case ((key, list, sequence), i) =>
        val row = Option(keys.getRow(keyOf(key), list, sequence)).map(_.toSeq)
        val isRemoved = (key, list, sequence) == ((1L, 0L, 1L))
        assertEquals(row, Option.when(!isRemoved)(keyOf(i.toLong).toSeq))
      }
    }
  }

  test("key groups do not share keys, timers or headers") {
    StateStoreHandle.using { state =>
      val keys = new KeyStore(new SparkKeyGroupState(state.handle), TestSpecs.hours)
      state.select(1)
      keys.put(keyOf(7L), Array(1))
      keys.watermarkTimers.put(5L, 0L, keyOf(7L))
      keys.watermarkTimers.header.put(Array(3))
      state.select(2)
      assertEquals(keys.keys.toSeq, Nil)
      assertEquals(keys.get(keyOf(7L)), null)
      assertEquals(entries(keys.watermarkTimers), Nil)
      assertEquals(keys.watermarkTimers.header.get, null)
      state.select(1)
      assertEquals(keys.keys.map(_.toSeq).toSeq, Seq(keyOf(7L).toSeq))
      keys.remove(keyOf(7L))
      keys.watermarkTimers.header.remove()
      assertEquals(keys.keys.toSeq, Nil)
      assertEquals(keys.watermarkTimers.header.get, null)
    }
  }

  test("the two timer indexes of a key group are separate") {
    StateStoreHandle.using { state =>
      val onClock = Every(1000000L, TriggerClock.Processing)
      val keys = new KeyStore(
        new SparkKeyGroupState(state.handle),
        TestSpecs.hours.copy(trigger = onClock))
      state.select(1)
      keys.watermarkTimers.put(5L, 0L, keyOf(1L))
      keys.clockTimers.put(6L, 0L, keyOf(2L))
      assertEquals(entries(keys.watermarkTimers), Seq((5L, 0L, keyOf(1L).toSeq)))
      assertEquals(entries(keys.clockTimers), Seq((6L, 0L, keyOf(2L).toSeq)))
    }
  }

  test("the first row of a key group is stored only for natural stagger") {
    Seq(Stagger.Natural -> Some(42L), Stagger.Random -> None).foreach {
      case (stagger, expected) =>
        StateStoreHandle.using { state =>
          val window = Tumbling(60000000L, stagger = stagger)
          val keys = new KeyStore(
            new SparkKeyGroupState(state.handle),
            TestSpecs.hours.copy(window = window))
          state.select(1)
          assertEquals(keys.firstRow, None)
          keys.saveFirstRow(42L)
          assertEquals(keys.firstRow, expected)
          state.select(2)
          assertEquals(keys.firstRow, None)
        }
    }
  }
}

private object StoredKeysSuite {

  /** A key of 8 bytes. */
  def keyOf(number: Long): Array[Byte] =
    java.nio.ByteBuffer.allocate(8).putLong(number).array
}
