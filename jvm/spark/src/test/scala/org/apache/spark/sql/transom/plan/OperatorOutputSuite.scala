package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LocalRelation}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.functions._
import org.apache.spark.sql.transom.TestSpecs
import org.apache.spark.sql.transom.planned._
import org.apache.spark.sql.types._

import transom.engine.firing.{AfterClock, AfterCount, EndOfStream}
import transom.engine.spec.{WindowSpec, _}
import transom.engine.window.{Count, Global, Session}

class OperatorOutputSuite extends PlanTest {
  private lazy val stream = dataFrame(isStreaming = true)

  private val usual =
    Seq(col("region"), col("time"), count("*").as("rows"), avg("n").as("mean"))

  private def layoutOf(
      spec: WindowSpec,
      df: Dataset[Row] = static,
      columns: Seq[Column] = usual): OperatorOutput = {
    val analyzed = AnalyzedColumns.of(df, spec, columns)
    val choice = Layouts.choose(spec, analyzed.functions)
    val aggregation = Aggregation.of(analyzed, analyzed.aggregate(identity), Nil, None)
    new OperatorOutput(df, OperatorSpec("window", "{}", Nil), spec, choice, aggregation)
  }

  private def resultOf(layout: OperatorOutput): StructType = {
    val plan = layout.named(LocalRelation(layout.output))
    assert(plan.missingInput.isEmpty, plan)
    plan.schema
  }

  private def fields(schema: StructType): Seq[String] = schema.fieldNames.toSeq

  private def struct(schema: StructType, name: String): StructType =
    schema(name).dataType.asInstanceOf[StructType]

  test("a result has keys, the window and the aggregates") {
    val schema = resultOf(layoutOf(TestSpecs.hours))
    assertEquals(fields(schema), Seq("region", "window", "rows", "mean"))
    assertEquals(
      struct(schema, "window").map(bound => (bound.name, bound.dataType)),
      Seq[(String, DataType)]("start" -> TimestampType, "end" -> TimestampType))
    assert(!schema("window").nullable && !schema("rows").nullable && schema("mean").nullable)
  }

  test("pane and change come after the window") {
    val spec =
      TestSpecs.hours.copy(pane = true, retract = true, allowedLatenessUs = 1L)
    val schema = resultOf(layoutOf(spec))
    assertEquals(fields(schema), Seq("region", "window", "pane", "change", "rows", "mean"))
  }

  test("side outputs make tagged rows, which are either a result or a side output") {
    val spec = TestSpecs.hours.copy(lateRows = LateRows.Late, deadLetters = true)
    val schema = resultOf(layoutOf(spec, stream))
    assertEquals(fields(schema), Seq("tag", "results", "late", "dead_letters"))
    assertEquals(fields(struct(schema, "results")), Seq("region", "window", "rows", "mean"))
    assert(schema.fields.filter(_.name != "tag").forall(_.nullable))
    // Tasks emit rows without a result.
    assert(layoutOf(spec, stream).output.forall(_.nullable))
    // An outer null stands for a side output, so fields stay as they are in a plain result.
    assert(!struct(schema, "results")("rows").nullable)
  }

  test("a static DataFrame has no late rows, but the column of late rows") {
    val spec = TestSpecs.hours.copy(lateRows = LateRows.Late)
    val ofStatic = layoutOf(spec)
    assertEquals(fields(resultOf(ofStatic)), Seq("tag", "results", "late"))
    assertEquals(ofStatic.operatorPlan.output.late, None)
    assertEquals(ofStatic.operatorPlan.spec.lateRows, LateRows.No: LateRows)
    val ofStream = layoutOf(spec, stream)
    assertEquals(fields(resultOf(ofStream)), Seq("tag", "results", "late"))
    assert(ofStream.operatorPlan.output.late.isDefined)
  }

  test("tasks keep the input row only for side outputs") {
    assertEquals(layoutOf(TestSpecs.hours, stream).row, Nil)
    val reporting = layoutOf(TestSpecs.hours.copy(deadLetters = true), stream)
    assertEquals(
      reporting.row.map(_.name),
      columns.map(_.name).filterNot(_.startsWith("__transom")))
  }

  test("the window column is marked for Spark's window functions and carries the watermark") {
    val delay = EventTimeWatermark.delayKey
    val watermarked = columns.map {
      case time if time.name == "time" =>
        time.withMetadata(new MetadataBuilder().putLong(delay, 5000L).build())
      case other => other
    }
    val df = dataFrame(isStreaming = true, watermarked)
    def metadata(spec: WindowSpec): Metadata = resultOf(layoutOf(spec, df))("window").metadata
    val hours = metadata(TestSpecs.hours)
    assert(hours.contains(TimeWindow.marker) && !hours.contains(SessionWindow.marker))
    assertEquals(hours.getLong(delay), 5000L)
    val sessions = metadata(TestSpecs.hours.copy(window = Session(60000000L)))
    assert(sessions.contains(SessionWindow.marker) && !sessions.contains(TimeWindow.marker))
    // The metadata survives inside the struct of a tagged row.
    val tagged = resultOf(layoutOf(TestSpecs.hours.copy(deadLetters = true), df))
    assertEquals(struct(tagged, "results")("window").metadata.getLong(delay), 5000L)
    // Windows of processing time have no event watermark.
    val clock = TestSpecs.hours.copy(
      time = Some(ProcessingTime),
      trigger = AfterClock,
      function = AggFunction(Seq(1, 2)))
    val ofClock = resultOf(layoutOf(clock, df, usual.patch(1, Nil, 1)))("window").metadata
    assert(!ofClock.contains(delay))
  }

  test("a Global window is null, and the bounds of a count window may be null") {
    val global = TestSpecs.hours.copy(window = Global, trigger = EndOfStream)
    val layout = layoutOf(global)
    val window = layout.named(LocalRelation(layout.output)).expressions(1).children.head
    assertEquals(window.eval(), null)
    val count = TestSpecs.hours.copy(window = Count(4), trigger = AfterCount(4))
    assert(resultOf(layoutOf(count))("window").nullable)
  }

  private val call = ApplyFunction("n int", RowsForm.Arrow, Nil)

  test("a function that is called with rows gets keys, window, rows and the end of a call") {
    val schema =
      resultOf(layoutOf(TestSpecs.hours.copy(function = call), columns = usual.take(2)))
    assertEquals(
      fields(schema),
      Seq("key:region", "window", "watermark", "clock", "is_last", "row"))
    assertEquals(
      fields(struct(schema, "row")),
      columns.map(_.name).filterNot(_.startsWith("__transom")))
  }

  test("a function that is called with aggregates gets them as one row") {
    val spec = TestSpecs.hours.copy(function = call.copy(aggregateColumns = Seq(2, 3)))
    val schema = resultOf(layoutOf(spec))
    assertEquals(fields(struct(schema, "row")), Seq("rows", "mean"))
    assert(!schema("row").nullable)
  }

  test("a function with state gets the grouping columns, and the ends of windows") {
    val spec = TestSpecs.hours.copy(
      function = call.copy(windowState = Some("n int")),
      allowedLatenessUs = 1L)
    val schema = resultOf(layoutOf(spec, columns = usual.take(2)))
    assertEquals(
      fields(schema),
      Seq(
        "key:region",
        "group_0",
        "window",
        "watermark",
        "clock",
        "is_last",
        "row",
        "window_gone"))
  }
}
