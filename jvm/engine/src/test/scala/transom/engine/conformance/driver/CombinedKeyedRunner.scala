package transom.engine.conformance.driver

import java.nio.charset.StandardCharsets.UTF_8

import transom.engine.judge.CommonWatermark
import transom.engine.keyed._
import transom.engine.keyed.contract._
import transom.engine.keyed.keystate.MemoryKeyStore
import transom.engine.runtime._
import transom.engine.spec.WindowSpec
import transom.engine.state.{ByteRange, Limits}
import transom.engine.window.RowContext
import transom.engine.conformance.vector.{Json, Unsupported}

/** Runs the keyed layout over rows that the map side has combined by slice. */
final class CombinedKeyedRunner(spec: WindowSpec) extends Operator(spec) {
  import CombinedKeyedRunner._

  private val store = new MemoryKeyStore(spec)
  private val rows = new EncodedRowStore(ListBytes, spec.window.convention)
  private val results =
    new ListResults[Vector[Json]](_ => Unsupported("rows are combined"))
  private val operator = new KeyedTaskOperator(
    spec,
    new WindowOperators(spec, KeyedPlan.of(spec, ListAggregation, rows, null), rows, results),
    rows,
    results,
    Operator.Side,
    Limits.Default,
    CommonWatermark.open)
  private val combined =
    new CombinedRows(spec.window.sliceAssigner, forKeyedLayout = true, spec, counts)

  override def open(clock: Long): KeyGroupOperator[Output] =
    operator.open(0, store, clock)

  override protected def mapSide(held: Seq[Row], lateWatermark: Long): Seq[GroupInput] =
    combined.inputs(held, lateWatermark) { (writer, row) =>
      writer.append(row.hash, row.keyBytes, row.accumulator)
    }

  override def isEmpty: Boolean = store.size == 0
}

private object CombinedKeyedRunner {

  /** Accumulators of [[RowList]] as lists of values. */
  object ListBytes extends RowCodec[Vector[Json]] {
    override def view(bytes: ByteRange): Vector[Json] =
      RowList.values(RowList.copy(bytes)).map(_._2)
    override def decode(bytes: Array[Byte], offset: Int, length: Int): Vector[Json] =
      Unsupported("no rows are stored")
    override def layout: Int = Unsupported("no rows are stored")
    override def converted(
        written: Int,
        bytes: Array[Byte],
        offset: Int,
        length: Int): Array[Byte] = Unsupported("no rows are stored")
    override def encode(row: Vector[Json]): Array[Byte] = Unsupported("no rows are stored")
    override def setTime(bytes: ByteRange, time: Long): Unit = Unsupported("rows have no time")
    override def timeOf(row: Vector[Json]): Long = RowContext.NoTime
  }

  object ListAggregation extends WindowAggregation[Vector[Json], Vector[Json]] {
    override def create(): Vector[Json] = Vector.empty
    override def add(values: Vector[Json], row: Vector[Json]): Vector[Json] = values ++ row
    override def weightOf(row: Vector[Json]): Int = 10 * row.length
    override def merge(values: Vector[Json], other: Vector[Json]): Vector[Json] = values ++ other
    override def encode(values: Vector[Json]): ByteRange =
      RowList.range(Json.show(values.map(_.value)).getBytes(UTF_8))
    override def decode(bytes: Array[Byte], offset: Int, length: Int): Vector[Json] =
      Json.parse(new String(bytes, offset, length, UTF_8)).elements.toVector
    override def result(values: Vector[Json]): Array[Byte] = Unsupported("nothing is retracted")
  }
}
