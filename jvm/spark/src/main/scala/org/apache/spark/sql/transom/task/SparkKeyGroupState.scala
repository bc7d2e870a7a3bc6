package org.apache.spark.sql.transom.task

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.Analyzer
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder.{Deserializer, Serializer}
import org.apache.spark.sql.catalyst.expressions.{Attribute, CodegenObjectFactoryMode}
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, TTLConfig}

import transom.engine.state.{KeyGroupState, StateMap, StateValue}

/** The state of the current key group in Spark's state store. Spark selects the key group, so one
  * instance serves all key groups of a partition. Plain bytes are the fastest keys of the state
  * store.
  *
  * @param isCached
  *   whether a cache stands in front of the state, so that an entry is read and written about
  *   once in a batch. Then Spark generates no code for the variables. In each batch each task
  *   declares them anew, and the code would take longer than the entries
  */
final class SparkKeyGroupState(handle: StatefulProcessorHandle, isCached: Boolean = false)
    extends KeyGroupState {
  import RowEncoders.bytes

  override def value(name: String): StateValue = new StateValue {
    private val state = declared(handle.getValueState(name, bytes, TTLConfig.NONE))
    override def get: Array[Byte] = state.get()
    override def put(value: Array[Byte]): Unit = state.update(value)
    override def remove(): Unit = state.clear()
  }

  override def map(name: String): StateMap = new StateMap {
    private val state = declared(handle.getMapState(name, bytes, bytes, TTLConfig.NONE))
    override def get(key: Array[Byte]): Array[Byte] = state.getValue(key)
    override def put(key: Array[Byte], value: Array[Byte]): Unit = state.updateValue(key, value)
    override def remove(key: Array[Byte]): Unit = state.removeKey(key)
    override def keys: Iterator[Array[Byte]] = state.keys()
    override def entries: Iterator[(Array[Byte], Array[Byte])] = state.iterator()
  }

  private def declared[T](variable: => T): T =
    if (isCached) SQLConf.withExistingConf(withoutGeneratedCode)(variable) else variable

  private lazy val withoutGeneratedCode = {
    val conf = new SQLConf
    conf.settings.putAll(SQLConf.get.settings)
    conf.setConf(SQLConf.CODEGEN_FACTORY_MODE, CodegenObjectFactoryMode.NO_CODEGEN)
    conf
  }
}

/** Encoders of state with the rows of Spark's own encoders, but without generated code.
  *
  * In each batch, each task declares its variables anew. For each, Spark resolves the expressions
  * of its encoders and generates code from them, which takes milliseconds.
  */
object RowEncoders {

  /** The encoder of keys and values. */
  val bytes: ExpressionEncoder[Array[Byte]] =
    new RowEncoder(encoderFor(Encoders.BINARY))(_.write(0, _), _.getBinary(0))

  /** The encoder of the id of a key group. */
  val group: ExpressionEncoder[Int] =
    new RowEncoder(encoderFor(Encoders.scalaInt))(_.write(0, _), _.getInt(0))
}

private final class RowEncoder[T](spark: ExpressionEncoder[T])(
    write: (UnsafeRowWriter, T) => Unit,
    read: InternalRow => T)
    extends ExpressionEncoder[T](spark.encoder, spark.objSerializer, spark.objDeserializer) {

  override def resolveAndBind(
      attributes: Seq[Attribute],
      analyzer: Analyzer): ExpressionEncoder[T] = this

  override def createSerializer(): Serializer[T] = new Serializer[T](serializer) {
    private lazy val writer = new UnsafeRowWriter(1)

    override def apply(value: T): InternalRow = {
      writer.reset()
      writer.zeroOutNullBytes()
      write(writer, value)
      writer.getRow
    }
  }

  override def createDeserializer(): Deserializer[T] = new Deserializer[T](Seq(deserializer)) {
    override def apply(row: InternalRow): T = read(row)
  }
}
