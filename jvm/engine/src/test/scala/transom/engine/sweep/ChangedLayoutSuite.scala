package transom.engine.sweep

import java.nio.ByteBuffer

import munit.FunSuite

import transom.engine.conformance.driver.{EntriesInMemory, OneKey, Specs}
import transom.engine.keyed.EncodedRowStore
import transom.engine.keyed.contract.RowCodec
import transom.engine.keyed.keystate.MemoryKeyStore
import transom.engine.spec.Lifetime
import transom.engine.state.{ByteRange, UnknownStateVersion}
import transom.engine.window.{RowContext, Snapshot, TimeConvention}

/** Stored rows whose layout differs from that of the run are converted before they are read. */
class ChangedLayoutSuite extends FunSuite {
  import ChangedLayoutSuite._
  import SharedRowSuite._

  for (hasEdges <- Seq(false, true); count <- Seq(60, 6000))
    test(s"each of $count rows of a swept key is converted, with edges: $hasEdges") {
      val entries = new EntriesInMemory
      val before = new SweepCodec(hasEdges, new SweepStore(entries, Narrow))
      val after = new SweepCodec(hasEdges, new SweepStore(entries, Wide))
      val bytes = before.encode(stateOf(hasEdges, count, before))
      assertEquals(entries.size > 0, count > 60)
      val kept = rowsOf(before.decode(bytes))
      val read = after.decode(bytes)
      assertEquals(read.live.runs.nonEmpty, !hasEdges)
      assert(!read.live.isEmpty && !read.pending.isEmpty)
      assertEquals(rowsOf(read).map(_._1), kept.map(_._1))
      assertEquals(rowsOf(read).map(_._2).distinct, Seq(16))

      // From then on the key's value has the new layout. Entries keep theirs until they change.
      val rewritten = after.encode(read)
      assertEquals(rowsOf(after.decode(rewritten)), rowsOf(read))
      if (count == 60) {
        val error = intercept[IllegalStateException](before.decode(rewritten))
        assertEquals(error.getMessage, "layout 1")
      }

      rewritten(0) = 9
      assertEquals(intercept[UnknownStateVersion](after.decode(rewritten)).version, 9)
    }

  test("a row of a window is converted, and new rows have the layout of the run") {
    val store = new MemoryKeyStore
    def rowsWith(codec: RowCodec[Cell]) = {
      val rows = new EncodedRowStore(codec, TimeConvention.Start)
      rows.open(store)
      rows.pointAt(Array[Byte](1))
      rows
    }
    rowsWith(Narrow).put(0L, 0L, new Cell(7L))
    rowsWith(Wide).put(0L, 1L, new Cell(8L))
    assertEquals((0L to 1L).map(rowsWith(Wide).get(0L, _).value), Seq(7L, 8L))
    assertEquals(
      intercept[IllegalStateException](rowsWith(Narrow).get(0L, 1L)).getMessage,
      "layout 1")
  }

  test("a row of another format is refused") {
    val store = new MemoryKeyStore
    val rows = new EncodedRowStore(Narrow, TimeConvention.Start)
    rows.open(store)
    rows.pointAt(Array[Byte](1))
    rows.put(0L, 0L, new Cell(7L))
    val value = store.getRow(Array[Byte](1), 0L, 0L)
    value(0) = 9
    store.putRow(Array[Byte](1), 0L, 0L, value)
    assertEquals(intercept[UnknownStateVersion](rows.get(0L, 0L)).version, 9)
  }

  /** A key with pending rows, and live rows in all parts of the state. */
  private def stateOf(hasEdges: Boolean, count: Int, codec: SweepCodec): SweepState = {
    val lifetime = Lifetime(endColumn = Some(0), idColumns = if (hasEdges) Seq(1) else Nil)
    val spec = Specs.of(Snapshot()).copy(lifetime = Some(lifetime))
    val operator = new SweepOperator[Cell, Cell, Unit](spec, Adding, Narrow, new Sums)
    val arrival = new RowContext
    val state = codec.create()
    (0 until count).foreach { n =>
      arrival.time = n.toLong
      arrival.end = if (hasEdges) RowContext.NoEnd else n + 3L + n % (count * 2 / 3)
      arrival.watermark = math.max(0L, n - count / 6L)
      OneKey.process(operator, state, Narrow.view(range(n.toLong)), arrival)
    }
    state
  }
}

private object ChangedLayoutSuite {
  import SharedRowSuite._

  /** The values of all rows with the sizes of their bytes. */
  def rowsOf(state: SweepState): Seq[(Long, Int)] =
    (state.pending.iterator ++ state.live.iterator).toSeq
      .map(row => (ByteBuffer.wrap(row.bytes, row.offset, row.length).getLong, row.length))
      .sorted

  abstract class Layout(override val layout: Int, size: Int) extends RowCodec[Cell] {
    override def view(bytes: ByteRange): Cell = decode(bytes.bytes, bytes.offset, bytes.length)
    override def decode(bytes: Array[Byte], offset: Int, length: Int): Cell =
      new Cell(ByteBuffer.wrap(bytes, offset, length).getLong)
    override def encode(row: Cell): Array[Byte] =
      ByteBuffer.allocate(size).putLong(row.value).array
    override def setTime(bytes: ByteRange, time: Long): Unit = ()
    override def timeOf(row: Cell): Long = RowContext.NoTime
    override def idOf(row: Cell): Array[Byte] = encode(row)
  }

  /** The layout of the first run: 8 bytes. */
  object Narrow extends Layout(0, 8) {
    override def converted(
        written: Int,
        bytes: Array[Byte],
        offset: Int,
        length: Int): Array[Byte] = throw new IllegalStateException(s"layout $written")
  }

  /** The layout of the second run: 16 bytes. */
  object Wide extends Layout(1, 16) {
    override def converted(
        written: Int,
        bytes: Array[Byte],
        offset: Int,
        length: Int): Array[Byte] = encode(Narrow.decode(bytes, offset, length))
  }
}
