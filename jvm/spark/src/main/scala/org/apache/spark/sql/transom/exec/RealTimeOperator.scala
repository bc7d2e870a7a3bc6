package org.apache.spark.sql.transom.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTime => _, _}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.transom.batch.{LateWatermark, RealTime}
import org.apache.spark.sql.transom.planned.{JudgementColumns, Layouts, WindowOperatorPlan}
import org.apache.spark.sql.transom.realtime.{RealTimeProcessor, SourceMessage, SourceTasks}
import org.apache.spark.sql.types.{StringType, StructType}

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
    val judgement = JudgementColumns.create().copy(bySource = true)
    val delayUs = delayOf(mapSide.child)
    val spec = before.spec.copy(time = Some(judging(before.spec.time, delayUs)))
    val operatorPlan = inBatch(
      mapSide.operatorId,
      before.copy(
        spec = spec,
        choice = Layouts.choose(spec, before.aggregates.map(_.aggregateFunction)),
        judgement = Some(judgement)))
    val (below, source) = withSource(mapSide.child)
    val read = mapSide.columns.zip(before.columns).distinct.map { case (from, to) =>
      Alias(from, to.name)(to.exprId)
    } ++ source ++ judgement.all.map(column => Alias(Literal(0L), column.name)(column.exprId))
    val tasks = SourceTasks(
      operatorPlan,
      read.map(_.toAttribute),
      source.map(_.toAttribute),
      delayUs,
      LateWatermark.runningBatch(session).get.numStateStores)
    val rows = DeserializeToObject(
      RowObject(),
      AttributeReference("row", RowObject.dataType, nullable = false)(),
      Project(read, below))
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

  /** The rows with the columns that identify their source, and the id of the source of a task's
    * first row.
    *
    * A task of Kafka's source reads one partition of a topic. Of other sources the id is unknown.
    */
  private def withSource(rows: LogicalPlan): (LogicalPlan, Option[Alias]) =
    carried(rows) match {
      case None => (rows, None)
      case Some((below, topic, partition)) =>
        val number = BitwiseAnd(MonotonicallyIncreasingID(), Literal((1L << 33) - 1L))
        val id = Concat(Seq(topic, Literal("-"), Cast(partition, StringType)))
        val ofFirst = If(EqualTo(number, Literal(0L)), id, Literal(null, StringType))
        (below, Some(Alias(ofFirst, "source")()))
    }

  /** A plan whose output also has the topic and the partition of rows, if they come from Kafka. */
  private def carried(plan: LogicalPlan): Option[(LogicalPlan, Attribute, Attribute)] =
    plan match {
      case scan: StreamingDataSourceV2ScanRelation
          if scan.stream.getClass.getSimpleName == "KafkaMicroBatchStream" =>
        for {
          topic <- scan.output.find(_.name == "topic")
          partition <- scan.output.find(_.name == "partition")
        } yield (scan, topic, partition)
      case Project(list, child) =>
        carried(child).map { case (below, topic, partition) =>
          val added = Seq(topic, partition).filterNot(list.contains)
          (Project(list ++ added, below), topic, partition)
        }
      case Filter(condition, child) =>
        carried(child).map { case (below, topic, partition) =>
          (Filter(condition, below), topic, partition)
        }
      case node: EventTimeWatermark =>
        carried(node.child).map { case (below, topic, partition) =>
          (node.copy(child = below), topic, partition)
        }
      case _ => None
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
