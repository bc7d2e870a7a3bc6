package org.apache.spark.sql.transom.task

import munit.ScalaCheckSuite
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.encoders.encoderFor
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.scalacheck.Prop.forAll

/** The rows of the state store are those of Spark's own encoder, so checkpoints stay readable. */
class BytesEncoderSuite extends ScalaCheckSuite {
  private val spark = encoderFor(Encoders.BINARY)
  private val ours = BytesEncoder.bytes

  test("the schema of the state is that of Spark's encoder") {
    assertEquals(ours.schema, spark.schema)
  }

  property("a row has the bytes of Spark's row, and each encoder reads the rows of the other") {
    val (write, writeOurs) = (spark.createSerializer(), ours.createSerializer())
    val read = spark.resolveAndBind().createDeserializer()
    val readOurs = ours.resolveAndBind().createDeserializer()
    forAll { (bytes: Array[Byte]) =>
      val row = write(bytes).asInstanceOf[UnsafeRow].copy()
      val rowOfOurs = writeOurs(bytes).asInstanceOf[UnsafeRow].copy()
      assertEquals(rowOfOurs.getBytes.toSeq, row.getBytes.toSeq)
      assertEquals(read(rowOfOurs).toSeq, bytes.toSeq)
      assertEquals(readOurs(row).toSeq, bytes.toSeq)
    }
  }
}
