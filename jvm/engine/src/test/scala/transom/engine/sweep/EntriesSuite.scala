package transom.engine.sweep

import java.nio.ByteBuffer

import scala.util.Random

import munit.FunSuite

import transom.engine.conformance.driver.{EntriesInMemory, OneKey, Specs}
import transom.engine.spec._
import transom.engine.window.{RowContext, Snapshot}

/** The state of a key with many rows is in entries of bounded size. */
class EntriesSuite extends FunSuite {
  import HeldBytesSuite._

  private val most = 24 << 10

  /** A key that is read and written after some of its rows. */
  private final class Key(spec: WindowSpec) {
    val entries = new EntriesInMemory
    private val operator = new SweepOperator(spec, Count, Arrays, Nothing)
    private val codec = new SweepCodec(spec.hasEdges, new SweepStore(entries, Arrays))
    private val arrival = new RowContext
    var state = codec.create()

    def add(start: Long, end: Long, watermark: Long, id: Int = 0): Unit = {
      arrival.time = start
      arrival.end = end
      arrival.watermark = watermark
      OneKey.process(operator, state, ByteBuffer.allocate(40).putInt(id).array, arrival): Unit
    }

    def advance(watermark: Long): Unit =
      OneKey.advance(operator, state, watermark, Long.MinValue)

    /** Returns the size of the key's value. */
    def restart(): Int = {
      val bytes = codec.encode(state)
      state = codec.decode(bytes)
      bytes.length
    }

    def end(): Unit = {
      advance(Long.MaxValue)
      codec.removeEntries(state)
    }
  }

  private val lifetimes = Specs.of(Snapshot()).copy(lifetime = Some(Lifetime(Some(0))))

  test("pending rows and live rows are in entries of bounded size") {
    val random = new Random(1)
    val key = new Key(lifetimes)
    (0 until 20000).foreach(_ => key.add(random.nextInt(1000), 500L + random.nextInt(9000), 0L))
    key.advance(700L)
    assert(key.restart() < most, key.restart())
    assert(key.entries.largest < most, key.entries.largest)
    assert(key.entries.size > 100, key.entries.size)
    key.end()
    assertEquals(key.entries.size, 0)
  }

  test("a row in a key with many live rows writes a few entries") {
    val key = new Key(lifetimes)
    (0 until 20000).foreach(i => key.add(i.toLong, 100000L + i, i.toLong))
    key.restart(): Unit
    val written = (20000 until 20100).map { i =>
      key.entries.puts = 0
      key.entries.gets = 0
      key.add(i.toLong, 100000L + i, i.toLong)
      key.restart(): Unit
      key.entries.puts + key.entries.gets
    }
    assert(written.max <= 4, written.max)
    key.end()
    assertEquals(key.entries.size, 0)
  }

  test("a row that leaves rewrites no entry of the rows that stay") {
    val key = new Key(lifetimes)
    (0 until 20000).foreach(i => key.add(i.toLong, 100000L + i, i.toLong))
    key.advance(100001L)
    key.restart(): Unit
    (100002L until 100100L).foreach { watermark =>
      key.entries.puts = 0
      key.advance(watermark)
      assert(key.restart() < most)
      assertEquals(key.entries.puts, 0)
    }
    key.end()
    assertEquals(key.entries.size, 0)
  }

  private val edges =
    Specs.of(Snapshot()).copy(lifetime = Some(Lifetime(endColumn = Some(0), idColumns = Seq(1))))

  test("an edge in a key with many open rows writes a few entries") {
    val key = new Key(edges)
    val open = 20000
    (0 until open).foreach(i => key.add(i.toLong, RowContext.NoEnd, i.toLong, id = i))
    key.advance(open.toLong)
    assert(key.restart() < most, key.restart())
    assert(key.entries.largest < most, key.entries.largest)
    assert(key.entries.size > 300, key.entries.size)
    val written = (1 to 100).map { i =>
      key.entries.puts = 0
      val time = open.toLong + i
      // A row ends, another one starts, and a result is computed.
      key.add(time, time, time, id = 199 * i)
      key.add(time, RowContext.NoEnd, time, id = open + i)
      key.advance(time + 1)
      assert(key.restart() < most)
      assertEquals(key.state.openRows, open)
      key.entries.puts
    }
    // Slots and accumulators over them, of both rows.
    assert(written.max <= 24, written.max)
    key.end()
    assertEquals(key.entries.size, 0)
  }

  test("the entries of open rows go with the rows") {
    val key = new Key(edges)
    (0 until 5000).foreach(i => key.add(i.toLong, RowContext.NoEnd, i.toLong, id = i))
    key.advance(5000L)
    key.restart(): Unit
    assert(key.entries.size > 75, key.entries.size)
    (0 until 4990).foreach(i => key.add(5000L + i, 5000L + i, 5000L + i, id = i))
    key.advance(20000L)
    key.restart(): Unit
    assertEquals(key.state.openRows, 10)
    assertEquals(key.entries.size, 0)
  }
}
