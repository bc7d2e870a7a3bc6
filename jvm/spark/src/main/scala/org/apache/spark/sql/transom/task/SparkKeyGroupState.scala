package org.apache.spark.sql.transom.task

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.Analyzer
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder.{Deserializer, Serializer}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, TTLConfig}

import transom.engine.state.{KeyGroupState, StateMap, StateValue}

/** The state of the current key group in Spark's state store. Spark selects the key group, so one
  * instance serves all key groups of a partition. Plain bytes are the fastest keys of the state
  * store.
  */
final class SparkKeyGroupState(handle: StatefulProcessorHandle) extends KeyGroupState {
  import BytesEncoder.bytes

  override def value(name: String): StateValue = new StateValue {
    private val state = handle.getValueState(name, bytes, TTLConfig.NONE)
    override def get: Array[Byte] = state.get()
    override def put(value: Array[Byte]): Unit = state.update(value)
    override def remove(): Unit = state.clear()
  }

  override def map(name: String): StateMap = new StateMap {
    private val state = handle.getMapState(name, bytes, bytes, TTLConfig.NONE)
    override def get(key: Array[Byte]): Array[Byte] = state.getValue(key)
    override def put(key: Array[Byte], value: Array[Byte]): Unit = state.updateValue(key, value)
    override def remove(key: Array[Byte]): Unit = state.removeKey(key)
    override def keys: Iterator[Array[Byte]] = state.keys()
    override def entries: Iterator[(Array[Byte], Array[Byte])] = state.iterator()
  }
}

/** Spark's encoder of bytes, with the same rows, but without generated code.
  *
  * In each batch, each task declares its variables anew. For each, Spark resolves the expressions
  * of its encoders and generates code from them, which takes milliseconds.
  */
private final class BytesEncoder(spark: ExpressionEncoder[Array[Byte]])
    extends ExpressionEncoder[Array[Byte]](
      spark.encoder,
      spark.objSerializer,
      spark.objDeserializer) {

  override def resolveAndBind(
      attributes: Seq[Attribute],
      analyzer: Analyzer): ExpressionEncoder[Array[Byte]] = this

  override def createSerializer(): Serializer[Array[Byte]] =
    new Serializer[Array[Byte]](serializer) {
      private lazy val writer = new UnsafeRowWriter(1)

      override def apply(bytes: Array[Byte]): InternalRow = {
        writer.reset()
        writer.zeroOutNullBytes()
        writer.write(0, bytes)
        writer.getRow
      }
    }

  override def createDeserializer(): Deserializer[Array[Byte]] =
    new Deserializer[Array[Byte]](Seq(deserializer)) {
      override def apply(row: InternalRow): Array[Byte] = row.getBinary(0)
    }
}

private object BytesEncoder {
  val bytes: BytesEncoder = new BytesEncoder(encoderFor(Encoders.BINARY))
}
