package transom.engine.conformance.driver

import java.nio.charset.StandardCharsets.UTF_8

import transom.engine.conformance.vector.Json
import transom.engine.keyed.contract.WindowAggregation
import transom.engine.state.ByteRange

/** Collects the values of a window in order of arrival.
  *
  * @param report
  *   computes the results of a window from its values
  */
final class JsonAggregation(report: Seq[Json] => Seq[Any])
    extends WindowAggregation[Row, Vector[Json]] {

  override def create(): Vector[Json] = Vector.empty

  override def add(values: Vector[Json], row: Row): Vector[Json] = values :+ row.value

  override def weightOf(row: Row): Int = 10

  override def merge(values: Vector[Json], other: Vector[Json]): Vector[Json] = values ++ other

  override def encode(values: Vector[Json]): ByteRange =
    RowList.range(Json.show(values.map(_.value)).getBytes(UTF_8))

  override def decode(bytes: Array[Byte], offset: Int, length: Int): Vector[Json] =
    Json.parse(new String(bytes, offset, length, UTF_8)).elements.toVector

  override def result(values: Vector[Json]): Array[Byte] =
    Json.show(report(values).toVector).getBytes(UTF_8)
}
