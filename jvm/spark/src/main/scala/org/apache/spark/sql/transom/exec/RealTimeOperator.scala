package org.apache.spark.sql.transom.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTime => _, _}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.transom.batch.{LateWatermark, RealTime}
import org.apache.spark.sql.transom.planned.{JudgementColumns, Layouts, WindowOperatorPlan}
import org.apache.spark.sql.transom.realtime.{RealTimeProcessor, SourceMessage, SourceTasks}
import org.apache.spark.sql.types.StructType

import transom.engine.spec.{Accept, EventTime, Periodic, Time, TimePolicy}

/** Plans a window operator in Real-Time Mode.
  *
  * In this mode all tasks of a batch run at the same time, and Spark allows only operators of its
  * own. So the operator consists of these:
  *
  * {{{
  * Project ──► MapPartitions ──► exchange ──► TransformWithState ──► results
  *              SourceTask        by key       RealTimeProcessor
  *                                group
  * }}}
  *
  * The time of the windows is that of a time policy: each row is judged alone, by the watermark of
  * its source.
  */
private object RealTimeOperator {

  /** The plan of an operator in the batch that is being planned.
    *
    * @param results
    *   the operator as it is planned for micro-batches
    * @param inBatch
    *   the plan of the operator in this batch
    */
  def of(
      session: SparkSession,
      results: OutputRows,
      inBatch: (String, WindowOperatorPlan) => WindowOperatorPlan): LogicalPlan = {
    val (processor, mapSide) = partsOf(results)
    val before = mapSide.operatorPlan
    RealTime.check(before)
    val judgement = JudgementColumns.create()
    val delayUs = delayOf(mapSide.child)
    val spec = before.spec.copy(time = Some(judging(before.spec.time, delayUs)))
    val operatorPlan = inBatch(
      mapSide.operatorId,
      before.copy(
        spec = spec,
        choice = Layouts.choose(spec, before.aggregates.map(_.aggregateFunction)),
        judgement = Some(judgement)))
    val read = mapSide.columns.zip(before.columns).distinct.map { case (from, to) =>
      Alias(from, to.name)(to.exprId)
    } ++ judgement.all.map(column => Alias(Literal(0L), column.name)(column.exprId))
    val tasks = SourceTasks(
      operatorPlan,
      read.map(_.toAttribute),
      source = None,
      delayUs,
      LateWatermark.runningBatch(session).get.numStateStores)
    val rows = DeserializeToObject(
      RowObject(),
      AttributeReference("row", RowObject.dataType, nullable = false)(),
      Project(read, mapSide.child))
    val messages = serialized(SourceMessage.schema, None) { message =>
      MapPartitions(
        rows => tasks.messages(rows.asInstanceOf[Iterator[InternalRow]]),
        message,
        rows)
    }
    val group = messages.output(SourceMessage.Group)
    serialized(DataTypeUtils.fromAttributes(results.output), Some(results.output)) { result =>
      processor.copy(
        keyDeserializer = group,
        groupingAttributes = Seq(group),
        dataAttributes = messages.output,
        statefulProcessor = RealTimeProcessor.of(tasks),
        // Timers of Spark would be looked for after each message.
        timeMode = TimeMode.None(),
        outputMode = OutputMode.Update(),
        outputObjAttr = result,
        child = messages,
        initialStateGroupingAttrs = Seq(group),
        initialStateDataAttrs = messages.output,
        initialState = LocalRelation(messages.output.map(_.newInstance())))
    }
  }

  private def partsOf(results: OutputRows): (TransformWithState, WindowMapSide) =
    results.collectFirst { case node: TransformWithState => (node, node.child) } match {
      case Some((processor, ByKeyGroup(_, mapSide: WindowMapSide)))
          if OperatorNode.allIn(mapSide.child).isEmpty =>
        (processor, mapSide)
      case _ =>
        throw RealTime.refusal(OperatorNode.allIn(results).last.spec.name, "several operators")
    }

  /** How far the watermark trails the latest time, as the watermark of the input says. */
  private def delayOf(rows: LogicalPlan): Long = {
    val delays = rows.collect { case watermark: EventTimeWatermark =>
      EventTimeWatermark.getDelayMs(watermark.delay) * 1000L
    }
    delays.head
  }

  /** The time policy that judges a row as event time does: the watermark trails the latest time of
    * the source, and windows decide what becomes of a row behind it.
    */
  private def judging(time: Option[Time], delayUs: Long): TimePolicy = time match {
    case Some(EventTime(column, _)) =>
      TimePolicy(
        timeColumn = Some(column),
        arrivalColumn = None,
        partitionColumn = None,
        partitions = Nil,
        overColumns = Nil,
        early = None,
        late = None,
        outOfOrder = Accept(delayUs),
        advance = Periodic(rows = Some(1), everyUs = None),
        idlePartitionUs = None,
        estimateArrival = false)
    case other => throw new IllegalArgumentException(s"$other is not event time")
  }

  /** The rows of a node that emits rows as objects.
    *
    * @param columns
    *   the attributes that the rows get; new ones if there are none
    * @param node
    *   the node that emits the object of an attribute
    */
  private def serialized(schema: StructType, columns: Option[Seq[Attribute]])(
      node: Attribute => LogicalPlan): LogicalPlan = {
    val row = AttributeReference("row", schema, nullable = false)()
    val fields = schema.indices.map { i =>
      val id = columns.fold(NamedExpression.newExprId)(_(i).exprId)
      Alias(GetStructField(row, i), schema(i).name)(id)
    }
    SerializeFromObject(fields, node(row))
  }
}
