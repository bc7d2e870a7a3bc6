package transom.engine.keyed

import java.nio.ByteBuffer

import scala.collection.mutable.ArrayBuffer

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.firing.{Every, ProcessingTimeout, Trigger, TriggerClock}
import transom.engine.judge.CommonWatermark
import transom.engine.keyed.contract.{Change, FiredWindow, Results, RowStore}
import transom.engine.keyed.keystate.{KeyState, KeyStore, MemoryKeyStore, StateCodec}
import transom.engine.runtime.Pulled
import transom.engine.state.ByteRange
import transom.engine.time.{Advance, Timeline}
import transom.engine.window.{RowContext, RowOutcome, TimeWindow}
import transom.engine.conformance.driver.Row
import transom.engine.conformance.vector.Json
import transom.engine.keyed.KeyedOperatorPropertiesSuite.{Arrived, OperatorSetup}

/** Runs rows of several keys in batches. As after a restart, only the store is kept from batch to
  * batch.
  */
class KeysOfGroupPropertiesSuite extends ScalaCheckSuite {
  import KeysOfGroupPropertiesSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(1000))

  property("results fired by the watermark do not depend on how rows are split into batches") {
    forAllNoShrink(setups, streams) { (setup, stream) =>
      forAllNoShrink(cuts(stream.length)) { cuts =>
        def cutAt(cuts: Seq[Int]) =
          new Group(setup).play(stream, cuts, stream.last.arrived.watermark)
        val (one, each, some) = (cutAt(Nil), cutAt(stream.indices), cutAt(cuts))
        assertEquals(each, one, s"$setup, one row a batch: $stream")
        assertEquals(some, one, s"$setup, cut at $cuts: $stream")
      }
    }
  }

  property("a key group emits the same as each of its keys alone") {
    forAllNoShrink(setups, streams) { (setup, stream) =>
      val last = stream.last.arrived.watermark
      val together = new Group(setup).play(stream, stream.indices, last)
      stream.groupBy(_.key).foreach { case (key, rows) =>
        val alone = new Group(setup).play(rows, Nil, last)
        assertEquals(together.get(key), alone.get(key), s"$setup, key $key of $stream")
      }
    }
  }
}

object KeysOfGroupPropertiesSuite {

  final case class Keyed(key: Int, arrived: Arrived)

  /** The events of each key, in order: windows that fired, and late rows. */
  private type Events = Map[Int, Seq[Any]]

  private final class Group(setup: OperatorSetup) {
    private val store = new MemoryKeyStore
    private val events = ArrayBuffer.empty[(Int, Any)]
    private var key = Array.emptyByteArray

    /** Runs the rows in batches, then moves the watermark to the end of time.
      *
      * @param cuts
      *   the numbers of rows at which batches end
      * @param last
      *   the last watermark
      */
    def play(stream: Seq[Keyed], cuts: Seq[Int], last: Long): Events = {
      val ends = (cuts.filter(_ > 0) :+ stream.length).distinct
      ends.foldLeft(0) { (from, until) =>
        // The event watermark of a batch is the late watermark of the next row.
        batch(stream.slice(from, until), stream.lift(until).fold(last)(_.arrived.watermark))
        until
      }
      batch(Nil, Long.MaxValue)
      assert(store.size == 0, s"$setup leaves ${store.size} entries")
      events.groupMap(_._1)(_._2).view.mapValues(_.toSeq).toMap
    }

    private def batch(rows: Seq[Keyed], watermark: Long): Unit = {
      val contents = new BytesOfRows(store, () => key)
      val plan = setup.plan(contents)
      val operator = new KeyedOperator(plan, contents, EventResults)
      val group = new KeysOfGroup[Row, KeyState[Vector[Json]], Unit](
        operator,
        new StateCodec(plan.aggregation),
        store,
        CommonWatermark,
        bytes => key = bytes,
        forgetsAtEnd = plan.assigner.timeline == Timeline.Endless,
        maxHeld = 2000)
      rows.foreach { case Keyed(number, arrived) =>
        val arrival = new RowContext
        arrival.time = arrived.time
        arrival.watermark = arrived.watermark
        arrival.gap = arrived.gap
        arrival.windows = arrived.row.windows
        group.reach(keyBytes(number), arrival).foreach(identity)
        group.add(arrived.row, arrival, 10).foreach(identity)
        val outcome = operator.outcome
        if (outcome != RowOutcome.Added) events += ((number, (arrived, outcome)))
      }
      val before = rows.lastOption.fold(watermark)(_.arrived.watermark)
      group
        .advance(Advance(before, watermark, watermark), Long.MinValue, hasTicked = false)
        .foreach(identity)
      group.save()
    }

    private object EventResults extends Results[Row, Vector[Json], Unit] {
      override def pointAt(key: Array[Byte]): Unit = ()
      override def result(window: FiredWindow, values: Vector[Json]): Unit = {
        val bounds = TimeWindow(window.start, window.end)
        events += ((ByteBuffer.wrap(key).getInt(), (bounds, values.map(_.value), window.pane)))
      }
      override def ofRows(window: FiredWindow, rows: Iterator[Row]): Iterator[Unit] =
        Pulled.one(result(window, rows.map(_.value).toVector))
      override def change(window: FiredWindow, change: Change, result: Array[Byte]): Unit = ()
      override def windowGone(window: FiredWindow): Unit = ()
    }
  }

  /** Stores rows as bytes. */
  private final class BytesOfRows(store: KeyStore, key: () => Array[Byte]) extends RowStore[Row] {

    override def put(list: Long, sequence: Long, row: Row): Unit = {
      val bytes = ByteBuffer.allocate(16).putLong(row.time.get).putLong(row.value.long).array
      store.putRow(key(), list, sequence, bytes)
    }

    override def get(list: Long, sequence: Long): Row = {
      val in = ByteBuffer.wrap(store.getRow(key(), list, sequence))
      val time = in.getLong()
      Row(Json.parse("0"), Json.parse(in.getLong().toString), Some(time), 0L)
    }

    override def getBytes(list: Long, number: Long): Array[Byte] =
      throw new UnsupportedOperationException
    override def putBytes(list: Long, number: Long, bytes: Array[Byte]): Unit =
      throw new UnsupportedOperationException

    override def remove(list: Long, sequence: Long): Unit =
      store.removeRow(key(), list, sequence)

    override def timeOf(row: Row): Long = row.time.get
  }

  private def keyBytes(key: Int): ByteRange =
    new ByteRange().set(ByteBuffer.allocate(4).putInt(key).array, 0, 4)

  private val streams: Gen[List[Keyed]] = for {
    steps <- KeyedOperatorPropertiesSuite.steps.map(_.collect { case arrived: Arrived =>
      arrived
    })
    if steps.nonEmpty
    keys <- Gen.listOfN(steps.length, Gen.choose(0, 3))
  } yield keys.zip(steps).map { case (key, arrived) => Keyed(key, arrived) }

  private def cuts(rows: Int): Gen[Seq[Int]] = Gen.someOf(0 until rows).map(_.sorted.toSeq)

  /** Setups whose windows fire by the watermark or by rows, not by the wall clock. */
  private val setups: Gen[OperatorSetup] =
    KeyedOperatorPropertiesSuite.setups.retryUntil(setup =>
      setup.timeline == Timeline.Event && !setup.trigger.parts.exists(usesClock))

  private def usesClock(trigger: Trigger): Boolean = trigger match {
    case _: ProcessingTimeout => true
    case Every(_, clock, _) => clock == TriggerClock.Processing
    case _ => false
  }
}
