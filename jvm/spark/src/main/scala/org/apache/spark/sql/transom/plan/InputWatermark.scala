package org.apache.spark.sql.transom.plan

import java.util.UUID

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, PreciseTimestampConversion}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.exec.{OperatorNode, OutputRows}
import org.apache.spark.sql.types.{LongType, StructType, TimestampType}
import org.apache.spark.unsafe.types.CalendarInterval

import transom.engine.spec.{EventTime, Time}

/** The watermark of a stream, which windows of event time need. */
private object InputWatermark {

  /** The key of the name of a watermark that an operator over results can follow, in the metadata
    * of their windows and of the starts of their lifetimes.
    */
  final val SourceKey = "transom.watermark"

  /** The name of the watermark of the operator whose results the rows are, if their time has one:
    * it is the window of results over a time policy, or the start of their lifetime. The operator
    * must run in the same tasks.
    */
  def sourceOf(df: Dataset[Row], time: Option[Time], columns: Seq[Column]): Option[String] =
    time match {
      case Some(EventTime(index, None)) if df.isStreaming =>
        val (rows, instant, name) = timed(df, columns(index))
        for {
          watermark <- Option.when(instant.metadata.contains(SourceKey))(
            instant.metadata.getString(SourceKey))
          // A table stores the mark, but not the watermark.
          spec <- OperatorNode
            .allIn(rows)
            .map(_.spec)
            .find(spec => watermark == spec.name || watermark == spec.lifetimes)
        } yield {
          if (!isInTasksOf(spec.name, rows))
            refuse("TRANSOM_WATERMARK_LOST", quoted(name), "operator" -> spec.name)
          watermark
        }
      case _ => None
    }

  /** Whether all rows of a plan come from an operator, without an exchange of Spark between. */
  private def isInTasksOf(operator: String, plan: LogicalPlan): Boolean = plan match {
    case results: OutputRows => OperatorNode.allIn(results).last.spec.name == operator
    case _: Project | _: Filter | _: SubqueryAlias | _: View | _: Generate | _: MapInArrow |
        _: MapInPandas =>
      plan.children.forall(isInTasksOf(operator, _))
    case _ => false
  }

  /** The input with the watermark that the message asks for, and the columns of the message.
    *
    * Spark sets watermarks only on columns. If the time is an expression, the input gets a hidden
    * column with its value, which also replaces the time in the columns.
    */
  def of(
      df: Dataset[Row],
      time: Option[Time],
      columns: Seq[Column]): (Dataset[Row], Seq[Column]) = time match {
    case Some(EventTime(index, delayUs)) if df.isStreaming =>
      val (rows, instant, name) = timed(df, columns(index))
      val hasWatermark = df.queryExecution.analyzed.exists(_.isInstanceOf[EventTimeWatermark])
      val marked = df.queryExecution.analyzed.output.find(hasWatermark && isMarked(_))
      (delayUs, marked) match {
        case (Some(_), Some(other)) => refuse("TRANSOM_TWO_WATERMARKS", quoted(other.name))
        case (Some(delay), None) =>
          checkType(instant, name)
          val interval = new CalendarInterval(0, 0, delay)
          val (below, point) = pointIn(rows, instant)
          val watermark = EventTimeWatermark(UUID.randomUUID(), point, interval, below)
          val column = watermark.output.find(_.exprId == instant.exprId).get
          (
            Dataset.ofRows(df.sparkSession, watermark),
            columns.updated(index, ExpressionUtils.column(column)))
        // After a join, several columns have one. A field of a struct has one too.
        case (None, _) if hasWatermark && isMarked(instant) => (df, columns)
        case (None, Some(other)) =>
          refuse("TRANSOM_OTHER_WATERMARK", quoted(name), "other" -> quoted(other.name))
        case (None, None) => refuse("TRANSOM_NO_WATERMARK", quoted(name))
      }
    case _ => (df, columns)
  }

  /** The rows with the time as a column, this column, and the name of the time in errors. */
  private def timed(df: Dataset[Row], time: Column): (LogicalPlan, Attribute, String) = {
    val rows = df.queryExecution.analyzed
    df.select(col("*"), time.as(RowColumns.Time)).queryExecution.analyzed match {
      case Project(_ :+ Alias(column: Attribute, _), _) if rows.outputSet.contains(column) =>
        (rows, column, column.name)
      case computed =>
        val name = computed.expressions.last.collectFirst { case Alias(e, _) => e.sql }
        (RowColumns.guarded(computed), computed.output.last, name.get)
    }
  }

  /** The rows with a timestamp for the watermark. The timestamp of a window is its last instant,
    * in a hidden column: Spark reads a window that is not its own as a number.
    */
  private def pointIn(rows: LogicalPlan, instant: Attribute): (LogicalPlan, Attribute) =
    instant.dataType match {
      case _: StructType =>
        val micros = RowColumns.lastInstant(instant)
        val last = PreciseTimestampConversion(micros, LongType, TimestampType)
        val point = Alias(last, s"${RowColumns.Time}_last")()
        (Project(rows.output :+ point, rows), point.toAttribute)
      case _ => (rows, instant)
    }

  /** Whether a column is marked as one with a watermark. Tables and files store the mark, but not
    * the watermark.
    */
  private def isMarked(column: Attribute): Boolean =
    column.metadata.contains(EventTimeWatermark.delayKey)

  private def checkType(instant: Attribute, name: String): Unit = instant.dataType match {
    case TimestampType =>
    case window: StructType if window.names.sameElements(Seq("start", "end")) =>
    case other => refuse("TRANSOM_NOT_A_TIMESTAMP", quoted(name), "type" -> other.simpleString)
  }

  private def quoted(name: String): String = s"'$name'"

  private def refuse(condition: String, column: String, others: (String, String)*): Nothing =
    throw new TransomException(condition, Map("argument" -> "time", "column" -> column) ++ others)
}
