package org.apache.spark.sql.transom.checkpoint

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.{Collections, WeakHashMap}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{NullNode, ObjectNode}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, StreamExecution}
import org.apache.spark.sql.transom.batch.LateWatermark
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.message.SpecCodec
import org.apache.spark.sql.transom.operator.{MapSideNode, OperatorSpec}
import org.apache.spark.sql.transom.tree.Nodes
import transom.engine.spec.Durations

/** Stores the spec of each operator in the checkpoint, and rejects a run whose spec differs.
  *
  * The file is `<checkpoint>/transom/<operator>.json`. State that was written under one spec
  * cannot be read under another, so the check precedes any access to state.
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

  /** Ids of the operators whose spec has been checked, by running query. */
  private val checked =
    Collections.synchronizedMap(new WeakHashMap[StreamExecution, Set[String]])

  /** Checks the spec of an operator. Called on the driver for each batch.
    *
    * The check runs once, in the first batch that a run computes. That batch need not be the
    * first of the run, because a sink skips a batch that it has committed.
    */
  def check(session: SparkSession, mapSide: MapSideNode): Unit =
    for {
      query <- LateWatermark.runningQuery(session)
      before = checked.getOrDefault(query, Set.empty)
      if !before(mapSide.operatorId)
      batch <- Option(query.lastExecution)
    } {
      val mapSides = Nodes.in[MapSideNode](batch.executedPlan)
      // A static plan inside `foreachBatch` runs under the same query, but is not part of its
      // plan.
      if (mapSides.exists(_.operatorId == mapSide.operatorId)) {
        check(session, batch, mapSide.spec, mapSides.map(_.spec.name))
        checked.put(query, before + mapSide.operatorId)
      }
    }

  private def check(
      session: SparkSession,
      batch: IncrementalExecution,
      spec: OperatorSpec,
      names: Seq[String]): Unit = {
    val files = new SpecFiles(session, new Path(batch.checkpointLocation).getParent)
    val stored = files.read(spec.name)
    // No state exists before batch 0 is complete.
    if (batch.currentBatchId > 0) {
      if (stored.isEmpty)
        files.names.find(!names.contains(_)).foreach { before =>
          throw changed(spec.name, "name", before, spec.name)
        }
      stored.foreach(before => refuseChange(spec.name, before, spec.json))
    }
    if (!stored.contains(spec.json)) files.write(spec.name, spec.json)
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
      .filter(clocksOf(_) < clocksOf(record))
      .foreach(refuseChange(operator, _, record))

  private def clocksOf(record: ObjectNode): Int = {
    val spec = SpecCodec.decode(record.get("spec").toString)
    spec.clocks
  }

  private def refuseChange(operator: String, before: ObjectNode, after: ObjectNode): Unit = {
    val (was, is) = (resolved(before), resolved(after))
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

  /** A copy of the record in which the columns replace their indexes. */
  private def resolved(record: ObjectNode): ObjectNode = {
    val whole = record.deepCopy()
    val columns = whole.remove("columns")
    def resolve(node: JsonNode): Unit = node.properties.asScala.toSeq.foreach { field =>
      val (name, value) = (field.getKey, field.getValue)
      if (name.endsWith("_column") && value.isInt) field.setValue(columns.get(value.intValue))
      else if (name.endsWith("_columns"))
        field.setValue(
          OperatorSpec.array(value.elements.asScala.map(i => columns.get(i.intValue)).toSeq))
      else resolve(value)
    }
    resolve(whole)
    whole
  }

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

/** Reads and writes the spec files of one checkpoint. Writes are atomic. */
private final class SpecFiles(session: SparkSession, checkpoint: Path) {
  private final val Suffix = ".json"
  private val directory = new Path(checkpoint, "transom")
  private val files =
    CheckpointFileManager.create(checkpoint, session.sessionState.newHadoopConf())

  private def file(operator: String): Path = new Path(directory, operator + Suffix)

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

  def read(operator: String): Option[ObjectNode] =
    if (!files.exists(file(operator))) None
    else {
      val in = files.open(file(operator))
      try Some(OperatorSpec.read(new String(in.readAllBytes(), UTF_8)))
      finally in.close()
    }

  def write(operator: String, record: ObjectNode): Unit = {
    files.mkdirs(directory)
    val out = files.createAtomic(file(operator), overwriteIfPossible = true)
    try {
      out.write(OperatorSpec.pretty(record).getBytes(UTF_8))
      out.close()
    } catch {
      case e: Throwable =>
        out.cancel()
        throw e
    }
  }
}
