package org.apache.spark.sql.transom.function

import java.nio.channels.ClosedByInterruptException

import scala.util.Try

import munit.FunSuite
import org.apache.commons.lang3.exception.ExceptionUtils
import org.apache.spark.{TaskContext, TaskKilledException}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.TestSession
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class NullOnErrorSuite extends FunSuite {
  // The generated code depends on the configuration of the session.
  override def beforeAll(): Unit = TestSession.spark: Unit

  private val text = AttributeReference("text", StringType)()
  private val number = Cast(text, IntegerType, None, EvalMode.ANSI)

  /** The values of expressions over a text, interpreted and in generated code. */
  private def both(expressions: Expression*)(of: String): Seq[Seq[Any]] = {
    val row = InternalRow(UTF8String.fromString(of))
    val bound = BindReferences.bindReferences(expressions, Seq(text))
    Seq(InterpretedUnsafeProjection.createProjection(bound), UnsafeProjection.create(bound)).map {
      projection => projection(row).copy().toSeq(expressions.map(_.dataType))
    }
  }

  test("a value is null where its expression fails, and unchanged elsewhere") {
    val guarded = NullOnError(number)
    assertEquals(both(guarded)("12"), Seq.fill(2)(Seq[Any](12)))
    assertEquals(both(guarded)("twelve"), Seq.fill(2)(Seq[Any](null)))
    assertEquals(both(guarded)(null), Seq.fill(2)(Seq[Any](null)))
  }

  test("Spark computes nothing in advance that several expressions share") {
    val twice = Multiply(number, Literal(2))
    val guarded = Seq(NullOnError(number), NullOnError(twice), NullOnError(Add(twice, number)))
    assertEquals(both(guarded: _*)("3"), Seq.fill(2)(Seq[Any](3, 6, 9)))
    assertEquals(both(guarded: _*)("three"), Seq.fill(2)(Seq[Any](null, null, null)))
    val unused = If(IsNull(text), number, Literal(0))
    assertEquals(both(guarded :+ unused: _*)("three").map(_.last), Seq[Any](0, 0))
  }

  private def failing(error: Exception): Expression = {
    def fail(text: String): Int = if (text == null) 0 else throw error
    ScalaUDF(fail _, IntegerType, Seq(text))
  }

  test("an exception that ends the task is thrown, also if a function has wrapped it") {
    val ends = Seq(
      new TaskKilledException("killed"),
      new InterruptedException,
      new ClosedByInterruptException,
      new IllegalStateException(new TaskKilledException("killed")),
      new RuntimeException(new OutOfMemoryError))
    val row = InternalRow(UTF8String.fromString("a"))
    ends.foreach { end =>
      val bound = BindReferences.bindReference[Expression](NullOnError(failing(end)), Seq(text))
      Seq(
        InterpretedUnsafeProjection.createProjection(Seq(bound)),
        UnsafeProjection.create(Seq(bound))).foreach { projection =>
        val thrown = Try(projection(row)).failed.toOption
        assert(
          thrown.exists(ExceptionUtils.getThrowables(_).contains(end)),
          s"$end became $thrown in ${projection.getClass}")
      }
    }
    val guarded = NullOnError(failing(new IllegalStateException(new NoSuchElementException)))
    assertEquals(both(guarded)("a"), Seq.fill(2)(Seq[Any](null)))
  }

  test("an exception of a task that Spark has killed ends the task") {
    val guarded = NullOnError(failing(new IllegalStateException))
    val task = TaskContext.empty()
    TaskContext.setTaskContext(task)
    try {
      assertEquals(both(guarded)("a"), Seq.fill(2)(Seq[Any](null)))
      task.markInterrupted("stopped")
      val error = intercept[TaskKilledException](both(guarded)("a"))
      assertEquals(error.reason, "stopped")
    } finally TaskContext.unset()
  }

  test("only expressions that can fail are wrapped") {
    val struct = AttributeReference("pair", StructType.fromDDL("a INT, b INT"))()
    Seq(text, Literal(1), GetStructField(struct, 1), NullOnError(number)).foreach { e =>
      assertEquals(NullOnError.of(e), e)
    }
    assertEquals(NullOnError.of(number), NullOnError(number): Expression)
    assertEquals(NullOnError(number).sql, number.sql)
  }
}
