package org.apache.spark.sql.transom.task

import munit.ScalaCheckSuite
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.scalacheck.{Arbitrary, Prop}
import org.scalacheck.Prop.forAll

/** The rows of the state store are those of Spark's own encoders, so checkpoints stay readable.
  */
class RowEncodersSuite extends ScalaCheckSuite {
  private val bytes = encoderFor(Encoders.BINARY)
  private val group = encoderFor(Encoders.scalaInt)

  test("the schema of the state is that of Spark's encoders") {
    assertEquals(RowEncoders.bytes.schema, bytes.schema)
    assertEquals(RowEncoders.group.schema, group.schema)
  }

  property("bytes have Spark's rows, and each encoder reads the rows of the other") {
    haveSameRows(RowEncoders.bytes, bytes)(_.toSeq)
  }

  property("ids of key groups have Spark's rows, and each encoder reads the rows of the other") {
    haveSameRows(RowEncoders.group, group)(identity)
  }

  private def haveSameRows[T: Arbitrary](ours: ExpressionEncoder[T], spark: ExpressionEncoder[T])(
      comparable: T => Any): Prop = {
    val (write, writeOurs) = (spark.createSerializer(), ours.createSerializer())
    val read = spark.resolveAndBind().createDeserializer()
    val readOurs = ours.resolveAndBind().createDeserializer()
    forAll { (value: T) =>
      val row = write(value).asInstanceOf[UnsafeRow].copy()
      val rowOfOurs = writeOurs(value).asInstanceOf[UnsafeRow].copy()
      assertEquals(rowOfOurs.getBytes.toSeq, row.getBytes.toSeq)
      assertEquals(comparable(read(rowOfOurs)), comparable(value))
      assertEquals(comparable(readOurs(row)), comparable(value))
    }
  }

  test("all ways to encode find the entries of the others") {
    StateStoreHandle.using { spark =>
      val ours = spark.withKeys(RowEncoders.group)
      val states = Seq(
        new SparkKeyGroupState(spark.handle),
        new SparkKeyGroupState(ours.handle),
        new SparkKeyGroupState(ours.handle, isCached = true))
      val (maps, values) = (states.map(_.map("entries")), states.map(_.value("one")))
      Seq(spark, ours).foreach(_.select(7))
      maps.zipWithIndex.foreach { case (map, i) => map.put(Array(i.toByte), Array(0, i.toByte)) }
      val expected = states.indices.map(i => (Seq(i.toByte), Seq[Byte](0, i.toByte))).toSet
      maps.foreach { map =>
        val found = map.entries.map { case (key, value) => (key.toSeq, value.toSeq) }
        assertEquals(found.toSet, expected)
        states.indices.foreach { i =>
          assertEquals(map.get(Array(i.toByte)).toSeq, Seq[Byte](0, i.toByte))
        }
      }
      for (i <- values.indices) {
        values(i).put(Array(i.toByte))
        values.foreach(value => assertEquals(value.get.toSeq, Seq(i.toByte)))
      }
    }
  }
}
