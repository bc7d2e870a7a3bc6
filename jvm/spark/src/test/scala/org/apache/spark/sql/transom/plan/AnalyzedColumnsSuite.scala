package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.functions._
import org.apache.spark.sql.transom.TestSpecs
import org.apache.spark.sql.types._

import transom.engine.firing.{EndOfStream, When}
import transom.engine.spec.{WindowSpec, _}
import transom.engine.window.{Custom, DynamicSession, Global}

class AnalyzedColumnsSuite extends PlanTest {
  private val usual = Seq(col("region"), col("time"), count("*"), sum("n"))

  private def analyzed(
      spec: WindowSpec = TestSpecs.hours,
      columns: Seq[Column] = usual): AnalyzedColumns = AnalyzedColumns.of(static, spec, columns)

  private def aggregateOf(columns: AnalyzedColumns): LogicalPlan = columns.aggregate(identity)

  test("each column of the message becomes an expression over the input") {
    val spec = TestSpecs.hours.copy(
      window = DynamicSession(4),
      trigger = When(6),
      orderColumns = Seq(5),
      allowedLatenessUs = 1L)
    val columns = analyzed(
      spec,
      Seq(
        upper(col("region")).as("where"),
        col("time"),
        count("*"),
        sum(col("n") + 1).as("total"),
        expr("cast(n as bigint)"),
        col("name"),
        expr("n > 3")))
    assertEquals(columns.byIndex.keySet, (0 to 6).toSet)
    val sql = columns.byIndex.transform((_, e) =>
      e.transform { case a: AttributeReference =>
        a.withQualifier(Nil)
      }.sql)
    assertEquals(sql(0), "upper(region)")
    assertEquals(sql(1), "time")
    assertEquals(sql(3), "sum((n + 1))")
    assertEquals(sql(4), "CAST(n AS BIGINT)")
    assertEquals(sql(5), "name")
    assertEquals(sql(6), "(n > 3)")
    assertEquals(columns.keyNames, Seq("where"))
    assertEquals(columns.placement.map(_.column.dataType), Some(LongType: DataType))
    assertEquals(columns.order.map(_.dataType), Seq[DataType](StringType))
  }

  test("a key that Spark computes in a node below is an expression over the input too") {
    val columns = analyzed(columns = window(col("time"), "1 day") +: usual.tail)
    val inputs = static.queryExecution.analyzed.outputSet
    assert(columns.byIndex(0).references.subsetOf(inputs), columns.byIndex(0))
    assertEquals(columns.byIndex(0).references.map(_.name).toSet, Set("time"))
  }

  test("the user's stars do not find the columns that the planner adds") {
    val spec = TestSpecs.hours.copy(orderColumns = Seq(4))
    val columns =
      analyzed(spec, usual.updated(3, collect_list(struct("*"))) :+ col("n"))
    val ArrayType(row: StructType, _) = columns.byIndex(3).dataType: @unchecked
    assertEquals(row.fieldNames.toSeq, this.columns.map(_.name))
  }

  test("the rows below the aggregate have the time, the window column and the order columns") {
    val spec =
      TestSpecs.hours.copy(window = Custom(4), orderColumns = Seq(5, 6), allowedLatenessUs = 1L)
    val windows = expr("array(named_struct('start', 1L, 'end', 2L))")
    val columns = analyzed(spec, usual ++ Seq(windows, col("n"), col("name")))
    val added = (columns.time +: columns.order) ++ columns.placement.map(_.column)
    assertEquals(added.length, 4)
    val below = aggregateOf(columns).children.head
    assert(AttributeSet(added).subsetOf(below.outputSet))
    assert(!below.exists(_.isInstanceOf[Hiding]))
  }

  test("the added columns pass through nodes that Spark puts below an aggregate") {
    Seq(
      // A sliding window as key multiplies rows in an Expand, a tumbling one is a Project.
      window(col("time"), "1 day", "8 hours"),
      window(col("time"), "1 day")).foreach { key =>
      val columns = analyzed(columns = key +: usual.tail)
      val below = aggregateOf(columns).children.head
      assert(below.outputSet.contains(columns.time), key)
      assert(aggregateOf(columns).resolved, key)
      assert(aggregateOf(columns).missingInput.isEmpty, key)
    }
  }

  test("the changed rows replace the rows") {
    val columns = analyzed()
    var seen: Option[LogicalPlan] = None
    val changed = columns.aggregate { rows =>
      seen = Some(rows)
      rows
    }
    assert(seen.exists(rows => changed.exists(_ eq rows)))
    assert(seen.exists(_.outputSet.contains(columns.time)))
  }

  test("without event time each row has the same time") {
    val spec = TestSpecs.hours.copy(
      time = None,
      window = Global,
      trigger = EndOfStream,
      function = AggFunction(Seq(1)))
    val columns = AnalyzedColumns.of(static, spec, Seq(col("region"), count("*")))
    assertEquals(columns.time.dataType, TimestampType: DataType)
    assertEquals(columns.byIndex.keySet, Set(0, 1))
  }

  test("the functions are those of the user's aggregates, without keys") {
    assertEquals(analyzed().functions.map(_.prettyName), Seq("count", "sum"))
    val ratio = analyzed(columns = usual.updated(3, max("n") - min("n")))
    assertEquals(ratio.functions.map(_.prettyName), Seq("count", "max", "min"))
  }
}
