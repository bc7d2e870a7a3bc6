package org.apache.spark.sql.transom.exec

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTime => _, _}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.transom.batch.{LateWatermark, RealTime}
import org.apache.spark.sql.transom.checkpoint.CheckpointedSpec
import org.apache.spark.sql.transom.planned.{JudgementColumns, Layouts, WindowOperatorPlan}
import org.apache.spark.sql.transom.realtime.{RealTimeProcessor, SourceMessage, SourceTasks}
import org.apache.spark.sql.types.StringType

import transom.engine.spec.{Accept, EventTime, Periodic, ProcessingTime, TimePolicy}

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
  * The time of the windows is that of a time policy: each row is judged alone, by the watermark
  * of its source.
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
    val input = inputOf(results)
    val policy = policyOf(input)
    val judgement =
      input.operatorPlan.judgement.getOrElse(JudgementColumns.create()).copy(bySource = true)
    val operatorPlan = inBatch(input.operatorId, judged(input.operatorPlan, policy, judgement))
    CheckpointedSpec.check(session, input.operatorId, operatorPlan)
    val (below, source) = withSource(input.rows)
    val read = input.columns.map { case (from, to) => Alias(from, to.name)(to.exprId) } ++
      source ++ judgement.all.map(column => Alias(Literal(0L), column.name)(column.exprId))
    val batch = LateWatermark.runningBatch(session).get
    val clocks = results.collect { case ticks: KeyGroupTicks => ticks.child }
    val tasks = SourceTasks(
      operatorPlan,
      read.map(_.toAttribute),
      source.map(_.toAttribute),
      policy,
      hasTimePolicy = input.operatorPlan.spec.policy.isDefined,
      input.arrival,
      reachedBefore(batch, input),
      batch.numStateStores,
      clocks.length)
    val messages = messagesOf(Project(read, below))(tasks.messages) match {
      case ofRows if clocks.isEmpty => ofRows
      case ofRows => Union(ofRows +: clocks.map(messagesOf(_)(tasks.ticks)))
    }
    val group = messages.output(SourceMessage.Group)
    val reports = session.sparkContext.collectionAccumulator[Row]
    val emitted = DataTypeUtils.fromAttributes(results.output)
    val operator = input.processor.copy(
      keyDeserializer = group,
      groupingAttributes = Seq(group),
      dataAttributes = messages.output,
      statefulProcessor = RealTimeProcessor.of(tasks, reports),
      // Timers of Spark would be looked for after each message.
      timeMode = TimeMode.None(),
      outputMode = OutputMode.Update(),
      outputObjAttr = AttributeReference("output", emitted, nullable = false)(),
      child = messages,
      initialStateGroupingAttrs = Seq(group),
      initialStateDataAttrs = messages.output,
      initialState = LocalRelation(messages.output.map(_.newInstance())))
    // The metrics read no rows. Below the columns, they leave Spark one piece of code to generate.
    val measured = results.child match {
      case observed: CollectMetrics =>
        observed.copy(metrics = OperatorMetrics.ofReports(reports), child = operator)
      case _ => operator
    }
    SerializeFromObject(
      fields(BoundReference(0, emitted, nullable = false), results.output),
      measured)
  }

  /** What an operator reads.
    *
    * @param rows
    *   the rows of the sources
    * @param columns
    *   pairs of a column of the rows and a column of the operator or of its time stage
    * @param arrival
    *   the column with the arrival of a row, if the time policy names one
    */
  private final case class Input(
      processor: TransformWithState,
      operatorId: String,
      operatorPlan: WindowOperatorPlan,
      rows: LogicalPlan,
      columns: Seq[(Attribute, Attribute)],
      arrival: Option[Attribute])

  private def inputOf(results: OutputRows): Input = {
    val name = OperatorNode.allIn(results).last.spec.name
    val processor = results.collectFirst { case node: TransformWithState => node }.get
    val mapSide = processor.collectFirst { case node: WindowMapSide => node }.get
    val operatorPlan = mapSide.operatorPlan
    RealTime.check(operatorPlan)
    val stage = mapSide.child.collectFirst {
      case stage: TimeStageMapSide if stage.operatorId == mapSide.operatorId => stage
    }
    val input = stage match {
      case None =>
        val columns = mapSide.columns.zip(operatorPlan.columns).distinct
        Input(processor, mapSide.operatorId, operatorPlan, mapSide.child, columns, None)
      case Some(stage) =>
        // The rows of a time stage have the columns that it has read, and then the judgements.
        val ofStage = if (stage.plan.holdsRows) stage.plan.columns else stage.plan.row
        val read = AttributeMap(stage.plan.columns.zip(stage.columns))
        val byOutput = AttributeMap(mapSide.child.output.zip(ofStage).map { case (out, column) =>
          out -> read(column)
        })
        val columns = for {
          (out, column) <- mapSide.columns.zip(operatorPlan.columns).distinct
          from <- byOutput.get(out)
        } yield from -> column
        stage.plan.partition.foreach(column => checkPartition(name, read(column), stage.child))
        val arrival =
          Option.when(stage.plan.policy.arrivalColumn.isDefined)(stage.plan.arrival)
        // The operator itself sets rows aside whose key has failed, as no stage runs before it.
        val keyFailed = stage.plan.keyFailed
        val ofStageOnly = (arrival ++ keyFailed).map(column => read(column) -> column)
        Input(
          processor,
          mapSide.operatorId,
          operatorPlan.copy(keyFailed = keyFailed),
          stage.child,
          columns ++ ofStageOnly,
          arrival)
    }
    if (OperatorNode.allIn(input.rows).nonEmpty)
      throw RealTime.refusal(
        name,
        "windows over windows",
        "Spark runs one stateful operator in this mode",
        "Write the results to a topic, and start a second query over it")
    input
  }

  /** Throws `TRANSOM_REAL_TIME` if the partition of a time policy is not that of a topic. Each
    * partition of a topic has a watermark, whatever the policy says.
    */
  private def checkPartition(operator: String, column: Attribute, rows: LogicalPlan): Unit = {
    val named = rows
      .collect { case Project(list, _) => list }
      .flatten
      .collect { case alias: Alias => alias.exprId -> alias.child }
      .toMap
    def originOf(value: Expression): Expression = value match {
      case Cast(child, _, _, _) => originOf(child)
      case attribute: Attribute =>
        named.get(attribute.exprId).fold[Expression](attribute)(originOf)
      case other => other
    }
    carried(rows).foreach { case (_, _, partition) =>
      if (!originOf(column).semanticEquals(partition))
        throw RealTime.refusal(
          operator,
          "TimePolicy(partition=) of another column",
          "the sources are the partitions of the topic",
          "Write partition='partition', Kafka's column")
    }
  }

  /** The operator whose rows are late by the watermarks of their sources. */
  private def judged(
      operator: WindowOperatorPlan,
      policy: Option[TimePolicy],
      judgement: JudgementColumns): WindowOperatorPlan = {
    val spec = operator.spec.copy(time = policy.orElse(operator.spec.time))
    operator.copy(
      operatorSpec = operator.operatorSpec.inRealTime,
      spec = spec,
      choice = Layouts.choose(spec, operator.aggregates.map(_.aggregateFunction)),
      judgement = policy.map(_ => judgement),
      watermarkSource = None)
  }

  /** The policy that judges rows by the watermarks of their sources. Event time is a policy whose
    * watermark trails the latest time of the source; windows decide what becomes of a row behind
    * it. The operator of a key group judges the rows of substreams.
    */
  private def policyOf(input: Input): Option[TimePolicy] = input.operatorPlan.spec.time match {
    case _ if input.operatorPlan.substreams.isDefined => None
    case Some(policy: TimePolicy) => Some(policy)
    case Some(EventTime(column, _)) =>
      Some(
        TimePolicy(
          timeColumn = Some(column),
          arrivalColumn = None,
          partitionColumn = None,
          partitions = Nil,
          overColumns = Nil,
          early = None,
          late = None,
          outOfOrder = Accept(delayOf(input.rows)),
          advance = Periodic(rows = Some(1), everyUs = None),
          idlePartitionUs = None,
          estimateArrival = false))
    case Some(ProcessingTime) | None => None
  }

  /** A watermark that no source had passed before a batch, in microseconds since 1970. Windows of
    * event time have Spark's watermark, which follows the latest time of all rows, in whole
    * milliseconds. None if rows have several watermarks, because Spark takes the least of them.
    */
  private def reachedBefore(batch: IncrementalExecution, input: Input): Option[Long] = {
    val watermarks = input.rows.collect { case watermark: EventTimeWatermark => watermark }
    Option.when(
      input.operatorPlan.spec.time.exists(_.isInstanceOf[EventTime]) && watermarks.length == 1)(
      (batch.offsetSeqMetadata.batchWatermarkMs + 1L) * 1000L)
  }

  /** How far the watermark trails the latest time, as the watermark of the input says. */
  private def delayOf(rows: LogicalPlan): Long =
    rows.collectFirst { case watermark: EventTimeWatermark =>
      EventTimeWatermark.getDelayMs(watermark.delay) * 1000L
    }.get

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

  /** A plan whose output also has the topic and the partition of rows, if they come from Kafka.
    */
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

  /** The messages of the tasks that read rows. */
  private def messagesOf(rows: LogicalPlan)(
      messages: Iterator[InternalRow] => Iterator[InternalRow]): LogicalPlan = {
    val row = AttributeReference("row", RowObject.dataType, nullable = false)()
    val message = AttributeReference("message", SourceMessage.schema, nullable = false)()
    val sent = MapPartitions(
      ofTask => messages(ofTask.asInstanceOf[Iterator[InternalRow]]),
      message,
      DeserializeToObject(RowObject(), row, rows))
    SerializeFromObject(
      fields(
        BoundReference(0, SourceMessage.schema, nullable = false),
        DataTypeUtils.toAttributes(SourceMessage.schema)),
      sent)
  }

  /** The fields of a struct under the names of columns.
    *
    * @param struct
    *   bound to the row, because Spark binds no attributes of an object without generated code
    */
  private def fields(struct: Expression, columns: Seq[Attribute]): Seq[NamedExpression] =
    columns.zipWithIndex.map { case (column, i) =>
      Alias(GetStructField(struct, i), column.name)(column.exprId)
    }
}
