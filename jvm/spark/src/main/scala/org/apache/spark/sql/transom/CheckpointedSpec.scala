package org.apache.spark.sql.transom

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Collections, WeakHashMap}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{NullNode, ObjectNode}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, StreamExecution}

import transom.spark.{SpecCodec, TransomException}

/** The specs in a checkpoint, `<checkpoint>/transom/<operator>.json`. State that was laid out by
  * one spec cannot be read by another, so a run whose spec differs is refused before it touches
  * any.
  */
object CheckpointedSpec {
  private val Spec = "spec"

  /** Fields that say nothing about the state; see docs/decisions. */
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
    "spec.time.delay_us")

  /** The operators that each running query has checked. */
  private val checked =
    Collections.synchronizedMap(new WeakHashMap[StreamExecution, Set[String]])

  /** Called for each batch of an operator, on the driver. Does its work in the first batch that a
    * run computes. That need not be the run's first batch: a sink skips a batch that it has
    * committed.
    */
  def check(session: SparkSession, mapSide: WindowMapSideExec): Unit =
    for {
      query <- LateWatermark.runningQuery(session)
      before = checked.getOrDefault(query, Set.empty)
      if !before(mapSide.operatorId)
      batch <- Option(query.lastExecution)
    } {
      val mapSides = batch.executedPlan.collect { case p: WindowMapSideExec => p }
      // A static plan inside foreachBatch has the same query around it.
      if (mapSides.exists(_.operatorId == mapSide.operatorId)) {
        check(session, batch, mapSide.operatorPlan.spec, mapSides.map(_.operatorPlan.spec.name))
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
    // Before the first batch is over there is no state that the spec could differ from.
    if (batch.currentBatchId > 0) {
      if (stored.isEmpty)
        files.names.find(!names.contains(_)).foreach { before =>
          throw changed(spec.name, "name", before, spec.name)
        }
      stored.foreach(before => refuseChange(spec.name, before, spec.json))
    }
    if (!stored.contains(spec.json)) files.write(spec.name, spec.json)
  }

  /** A query that started with fewer clocks has fewer sources in its checkpoint; Spark's own
    * error is no help.
    */
  def refuseNewClock(session: SparkSession, checkpoint: Path, operatorSpec: OperatorSpec): Unit =
    new SpecFiles(session, checkpoint)
      .read(operatorSpec.name)
      .filter(clocksOf(_) < clocksOf(operatorSpec.json))
      .foreach(refuseChange(operatorSpec.name, _, operatorSpec.json))

  private def clocksOf(record: ObjectNode): Int = {
    val spec = SpecCodec.decode(record.get("spec").toString)
    Seq(spec.drain, spec.needsClock).count(identity)
  }

  private def refuseChange(operator: String, before: ObjectNode, after: ObjectNode): Unit = {
    val (was, is) = (resolved(before), resolved(after))
    // A layout often changes because the spec does: the user knows the change of the spec.
    val found = difference(Spec, was.get(Spec), is.get(Spec)).orElse(difference("", was, is))
    found.foreach { case (path, was, is) =>
      throw changed(operator, path.stripPrefix(s"$Spec."), shown(was), shown(is))
    }
  }

  /** For people: a column is its SQL. */
  private def shown(node: JsonNode): String =
    if (node.isTextual) node.asText
    else if (node.has("sql")) node.get("sql").asText
    else if (node.isArray) node.elements.asScala.map(shown).mkString("[", ", ", "]")
    else node.toString

  private def changed(
      operator: String,
      field: String,
      before: String,
      after: String): TransomException =
    new TransomException(
      "TRANSOM_SPEC_CHANGED",
      Map("operator" -> operator, "field" -> field, "before" -> before, "after" -> after))

  /** The record with the columns themselves in place of their indexes. */
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

  /** Where two records differ first: the dotted path, what stood there, what stands there now. */
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

/** The files of one checkpoint. */
private final class SpecFiles(session: SparkSession, checkpoint: Path) {
  private val Suffix = ".json"
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
