package org.apache.spark.sql.transom.checkpoint

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.{Collections, WeakHashMap}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, NullNode, ObjectNode}
import org.apache.hadoop.fs.{ChecksumException, Path}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, StreamExecution}
import org.apache.spark.sql.transom.batch.LateWatermark
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.message.SpecCodec
import org.apache.spark.sql.transom.planned.{MapSideNode, OperatorSpec, WindowOperatorPlan}
import org.apache.spark.sql.transom.schema.{StateSchema, StateSchemas}
import org.apache.spark.sql.types.{DataType, StructField}
import transom.engine.setting.{Constants, Durations}

/** Stores the spec of each operator and the schemas of its state in the checkpoint, and rejects a
  * run that cannot read the state.
  *
  * The file is `<checkpoint>/transom/<operator>.json`. State that was written under one spec
  * cannot be read under another, so the check precedes any access to state. Rows that were
  * written with another schema are read by name, see `RowReader`.
  */
object CheckpointedSpec {
  private final val Spec = "spec"

  /** Names of fields with microseconds end so. */
  private final val Micros = "_us"

  /** Fields that may change between runs, because they do not affect the state. See
    * docs/decisions.
    */
  private val free = Set(
    "operator",
    "transom",
    "spec.name",
    "spec.layout",
    "spec.late_rows",
    "spec.dead_letters",
    "spec.function.schema",
    "spec.function.form",
    "spec.function.outputs",
    "spec.tick_us",
    "spec.row_log",
    "spec.time.delay_us")

  /** The path of columns, or of a part of one: its SQL, its type, or the type of a column read.
    */
  private val ColumnField =
    """(?:function\.)?(.+?)_columns?(?:\.(\d+))?(?:\.(sql|type|reads\.(.+)))?""".r

  /** The schemas of the operators whose spec has been checked, by running query and operator. */
  private val checked =
    Collections.synchronizedMap(new WeakHashMap[StreamExecution, Map[String, StateSchemas]])

  /** Checks the spec of an operator. Called on the driver for each batch.
    *
    * The check runs once, in the first batch that a run computes. That batch need not be the
    * first of the run, because a sink skips a batch that it has committed.
    */
  def check(session: SparkSession, mapSide: MapSideNode): Unit =
    once(session, mapSide.operatorId) { batch =>
      val mapSides = batch.executedPlan.collect { case node: MapSideNode => node }
      // A static plan inside `foreachBatch` runs under the same query, but is not part of its
      // plan.
      val ofOperator = mapSides.filter(_.operatorId == mapSide.operatorId)
      Option.when(ofOperator.nonEmpty) {
        val schema = ofOperator.flatMap(_.stateSchema).headOption.getOrElse(StateSchema.empty)
        check(session, batch, mapSide.spec, schema, mapSides.map(_.spec.name))
      }
    }

  /** Checks the spec of the only operator of a query in Real-Time Mode. Called when Spark plans a
    * batch: none of the nodes that run is the operator's own.
    */
  def check(session: SparkSession, operatorId: String, operatorPlan: WindowOperatorPlan): Unit =
    once(session, operatorId) { batch =>
      import operatorPlan.{operatorSpec, name, schema}
      Some(check(session, batch, operatorSpec, schema, Seq(name)))
    }

  /** Runs a check, unless the running query has passed it. */
  private def once(session: SparkSession, operatorId: String)(
      check: IncrementalExecution => Option[StateSchemas]): Unit =
    for {
      query <- LateWatermark.runningQuery(session)
      before = checked.getOrDefault(query, Map.empty)
      if !before.contains(operatorId)
      batch <- Option(query.lastExecution)
      schemas <- check(batch)
    } checked.put(query, before + (operatorId -> schemas))

  /** The schemas of the state for the tasks of a batch. Called when Spark plans the batch, which
    * is before `check`. Neither reads nor writes any state.
    */
  def schemas(
      session: SparkSession,
      batch: IncrementalExecution,
      operatorId: String,
      operatorPlan: WindowOperatorPlan): StateSchemas = {
    val known = LateWatermark
      .runningQuery(session)
      .flatMap(query => checked.getOrDefault(query, Map.empty).get(operatorId))
    known.getOrElse {
      val files = new SpecFiles(session, checkpointOf(batch))
      val name = operatorPlan.name
      schemasOf(session, batch, name, files, files.read(name), operatorPlan.schema)._2
    }
  }

  private def checkpointOf(batch: IncrementalExecution): Path =
    new Path(batch.checkpointLocation).getParent

  private def check(
      session: SparkSession,
      batch: IncrementalExecution,
      spec: OperatorSpec,
      schema: StateSchema,
      names: Seq[String]): StateSchemas = {
    val files = new SpecFiles(session, checkpointOf(batch))
    val stored = files.read(spec.name)
    val (written, schemas) = schemasOf(session, batch, spec.name, files, stored, schema)
    // No state exists before batch 0 is complete.
    if (batch.currentBatchId > 0) {
      if (stored.isEmpty)
        files.names.find(!names.contains(_)) match {
          case Some(before) => throw changed(spec.name, "name", before, spec.name)
          case None => throw files.damaged(spec.name, "is missing")
        }
      stored.foreach(before => refuseChange(spec.name, before.record, spec.json))
      written.foreach(before => refuseChange(spec.name, before.schema, schemas))
    }
    val record = StoredSpec(spec.json, written)
    if (!stored.contains(record)) files.write(spec.name, record)
    schemas
  }

  /** The schemas that the file of this run has, and the same schemas for its tasks.
    *
    * A schema that the current batch or a later one has written first is in no state: no such
    * batch has been committed. So an attempt that failed restricts no later run.
    */
  private def schemasOf(
      session: SparkSession,
      batch: IncrementalExecution,
      operator: String,
      files: SpecFiles,
      stored: Option[StoredSpec],
      schema: StateSchema): (Vector[WrittenSchema], StateSchemas) = {
    val committed = stored
      .fold(Vector.empty[WrittenSchema])(_.state)
      .filter(_.sinceBatch < batch.currentBatchId)
    val numbers = committed.map(_.number)
    val all =
      if (committed.exists(_.schema == schema)) committed
      else {
        val free = Iterator.iterate(schema.number)(_ + 1).find(!numbers.contains(_)).get
        committed :+ WrittenSchema(free, batch.currentBatchId, schema)
      }
    val conf = session.sessionState.conf
    val schemas = StateSchemas(
      all.map(written => written.number -> written.schema).toMap,
      all.find(_.schema == schema).get.number,
      conf.caseSensitiveAnalysis,
      conf.sessionLocalTimeZone,
      operator,
      files.file(operator).toString)
    (all, schemas)
  }

  private def refuseChange(operator: String, before: StateSchema, schemas: StateSchemas): Unit =
    before.problem(schemas.now, schemas.isCaseSensitive).foreach { mismatch =>
      val path = mismatch.path.filterNot(_.startsWith(Constants.HiddenPrefix))
      val field = if (path.isEmpty) "schema of the state" else s"column ${path.mkString(".")}"
      throw changed(operator, field, shown(mismatch.before), shown(mismatch.after))
    }

  private def shown(column: Option[StructField]): String = column.fold("none") { column =>
    column.dataType.sql + (if (column.nullable) "" else " NOT NULL")
  }

  /** Throws if the spec needs more clock sources than the spec in the checkpoint.
    *
    * Spark would fail too, because the number of sources differs. Its error would not name the
    * cause.
    */
  def refuseNewClock(
      session: SparkSession,
      checkpoint: Path,
      operator: String,
      record: ObjectNode): Unit =
    new SpecFiles(session, checkpoint)
      .read(operator)
      .map(_.record)
      .filter(clocksOf(_) < clocksOf(record))
      .foreach(refuseChange(operator, _, record))

  private def clocksOf(record: ObjectNode): Int = {
    val spec = SpecCodec.decode(record.get("spec").toString)
    spec.clocks
  }

  private def refuseChange(operator: String, before: ObjectNode, after: ObjectNode): Unit = {
    val (was, is) = (StoredSpec.resolved(before), StoredSpec.resolved(after))
    // A change of the spec often changes the layout. Report the spec first: the user changed it.
    val found = difference(Spec, was.get(Spec), is.get(Spec)).orElse(difference("", was, is))
    found.foreach { case (path, was, is) =>
      val name = path.split('.').last
      throw changed(operator, named(path), shown(name, was), shown(name, is))
    }
  }

  /** The field of a path, as an error names it.
    *
    * `spec.window.size_us` is "window.size", `spec.key_columns.0.sql` is "key 1", and
    * `spec.key_columns.0.reads.n` is "type of n in key 1".
    */
  private def named(path: String): String = path.stripPrefix(s"$Spec.") match {
    case ColumnField(name, index, part, read) =>
      val column =
        if (index != null) s"$name ${index.toInt + 1}"
        else if (name == "key" || name == "aggregate") s"${name}s"
        else name
      if (read != null) s"type of $read in $column"
      else if (part == "type") s"type of $column"
      else column
    case field => field.stripSuffix(Micros)
  }

  /** The value of a field as text for an error message. The text of a column is its SQL. */
  private def shown(name: String, node: JsonNode): String =
    if (node.isNull) "none"
    else if (node.isTextual) node.asText
    else if (node.isNumber && name == "first_output_us")
      Instant.EPOCH.plus(node.longValue, ChronoUnit.MICROS).toString
    else if (node.isNumber && name.endsWith(Micros)) Durations.text(node.longValue)
    else if (node.has("sql")) node.get("sql").asText
    else if (node.isArray) node.elements.asScala.map(shown(name, _)).mkString("[", ", ", "]")
    else if (node.isObject)
      node.properties.asScala
        .map(field =>
          s"${field.getKey.stripSuffix(Micros)} = ${shown(field.getKey, field.getValue)}")
        .mkString("{", ", ", "}")
    else node.toString

  private def changed(
      operator: String,
      field: String,
      before: String,
      after: String): TransomException =
    new TransomException(
      "TRANSOM_SPEC_CHANGED",
      Map("operator" -> operator, "field" -> field, "before" -> before, "after" -> after))

  /** The first difference of two records: its dotted path, the old value and the new value. */
  private def difference(
      path: String,
      was: JsonNode,
      is: JsonNode): Option[(String, JsonNode, JsonNode)] =
    if (free(path) || was == is) None
    else if (was.isObject && is.isObject)
      (was.fieldNames.asScala ++ is.fieldNames.asScala).distinct
        .flatMap(name =>
          difference(
            if (path.isEmpty) name else s"$path.$name",
            orNull(was.get(name)),
            orNull(is.get(name))))
        .nextOption()
    else if (was.isArray && is.isArray && was.size == is.size)
      Iterator
        .range(0, was.size)
        .flatMap(i => difference(s"$path.$i", was.get(i), is.get(i)))
        .nextOption()
    else Some((path, was, is))

  private def orNull(node: JsonNode): JsonNode = Option(node).getOrElse(NullNode.instance)
}

/** A schema with which state may have been written.
  *
  * @param number
  *   the number of the schema in values of the state
  * @param sinceBatch
  *   the first batch that has written state with the schema
  */
private final case class WrittenSchema(number: Int, sinceBatch: Long, schema: StateSchema)

/** The file of an operator.
  *
  * @param record
  *   the spec, see `OperatorSpec`
  * @param state
  *   the schemas of the state
  */
private final case class StoredSpec(record: ObjectNode, state: Vector[WrittenSchema]) {

  def json: ObjectNode = {
    val file = record.deepCopy()
    val schemas = state.map { written =>
      val node = file.objectNode()
      node.put(StoredSpec.Number, written.number).put(StoredSpec.Since, written.sinceBatch)
      node.set[ObjectNode](StoredSpec.Schema, OperatorSpec.read(written.schema.asType.json))
    }
    file.set[ObjectNode](StoredSpec.State, OperatorSpec.array(schemas))
  }
}

private object StoredSpec {
  private final val State = "state"
  private final val Number = "number"
  private final val Since = "since_batch"
  private final val Schema = "schema"

  /** Reads the text of a file. Throws an exception if it is not the file of the operator. */
  def of(text: String, operator: String): StoredSpec = {
    val record = OperatorSpec.read(text)
    require(record.path("operator").asText == operator, "it describes another operator")
    val state = record.remove(State).asInstanceOf[ArrayNode].elements.asScala.map { node =>
      val schema = DataType.fromJson(node.get(Schema).toString)
      require(node.get(Number).isInt && node.get(Since).isIntegralNumber, "a schema is cut off")
      WrittenSchema(node.get(Number).intValue, node.get(Since).longValue, StateSchema.of(schema))
    }
    // The columns that the spec refers to must be there.
    require(resolved(record).get("spec").isObject, "it has no spec")
    StoredSpec(record, state.toVector)
  }

  /** A copy of the record in which the columns replace their indexes. */
  def resolved(record: ObjectNode): ObjectNode = {
    val whole = record.deepCopy()
    val columns = whole.remove("columns").asInstanceOf[ArrayNode]
    def column(index: JsonNode): JsonNode =
      Option(columns.get(index.intValue))
        .getOrElse(throw new NoSuchElementException(s"column ${index.intValue}"))
    def resolve(node: JsonNode): Unit = node.properties.asScala.toSeq.foreach { field =>
      val (name, value) = (field.getKey, field.getValue)
      if (name.endsWith("_column") && value.isInt) field.setValue(column(value))
      else if (name.endsWith("_columns"))
        field.setValue(OperatorSpec.array(value.elements.asScala.map(column).toSeq))
      else resolve(value)
    }
    resolve(whole)
    whole
  }
}

/** Reads and writes the spec files of one checkpoint. Writes are atomic. */
private final class SpecFiles(session: SparkSession, checkpoint: Path) {
  private final val Suffix = ".json"
  private val directory = new Path(checkpoint, "transom")
  private val files =
    CheckpointFileManager.create(checkpoint, session.sessionState.newHadoopConf())

  def file(operator: String): Path = new Path(directory, operator + Suffix)

  def names: Seq[String] =
    if (!files.exists(directory)) Nil
    else
      files
        .list(directory)
        .toSeq
        .map(_.getPath.getName)
        .filter(name => name.endsWith(Suffix) && !name.startsWith("."))
        .map(_.stripSuffix(Suffix))
        .sorted

  /** The file of an operator; none if there is none. Throws `TRANSOM_SPEC_DAMAGED` if it cannot
    * be read.
    */
  def read(operator: String): Option[StoredSpec] =
    if (!files.exists(file(operator))) None
    else {
      val text =
        try {
          val in = files.open(file(operator))
          try new String(in.readAllBytes(), UTF_8)
          finally in.close()
        } catch { case e: ChecksumException => throw damaged(operator, "is damaged", e) }
      try Some(StoredSpec.of(text, operator))
      catch { case NonFatal(e) => throw damaged(operator, "is damaged", e) }
    }

  /** The error for a file that cannot be used.
    *
    * @param problem
    *   what is wrong with the file
    */
  def damaged(operator: String, problem: String, cause: Throwable = null): TransomException =
    new TransomException(
      "TRANSOM_SPEC_DAMAGED",
      Map("file" -> file(operator).toString, "problem" -> problem, "operator" -> operator),
      cause)

  def write(operator: String, record: StoredSpec): Unit = {
    files.mkdirs(directory)
    val out = files.createAtomic(file(operator), overwriteIfPossible = true)
    try {
      out.write(OperatorSpec.pretty(record.json).getBytes(UTF_8))
      out.close()
    } catch {
      case e: Throwable =>
        out.cancel()
        throw e
    }
  }
}
