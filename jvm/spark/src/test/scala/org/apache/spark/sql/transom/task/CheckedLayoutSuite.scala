package org.apache.spark.sql.transom.task

import java.lang.reflect.{InvocationHandler, Proxy}

import scala.collection.mutable

import munit.FunSuite
import org.apache.spark.sql.streaming.StatefulProcessorHandle
import org.apache.spark.sql.transom.TestSpecs

import transom.engine.firing.AfterCount
import transom.engine.judge.{SourceStore, SubstreamStore}
import transom.engine.keyed.keystate.KeyStore
import transom.engine.spec.{Lifetime, ProcessingTime}
import transom.engine.state.SegmentEntries
import transom.engine.window.{Stagger, Tumbling}

/** Each value in Spark's state store has a layout that is checked before its bytes are read.
  *
  * The table says how. A new state variable is not in the table, so this test fails until
  * somebody decides how its layout is checked. The engine has a test of each version.
  */
class CheckedLayoutSuite extends FunSuite {
  test("the table has each variable of the state") {
    val hours = TestSpecs.hours
    val staggered = hours.copy(window = Tumbling(3600000000L, stagger = Stagger.Natural))
    val byClock = hours.copy(trigger = AfterCount(1), time = Some(ProcessingTime))
    val edges = hours.copy(lifetime = Some(Lifetime(endColumn = Some(0), idColumns = Seq(1))))
    val names = mutable.SortedSet.empty[String]
    val record: InvocationHandler = (_, _, arguments) => {
      names += arguments(0).toString
      null
    }
    val handle = Proxy
      .newProxyInstance(getClass.getClassLoader, Array(classOf[StatefulProcessorHandle]), record)
      .asInstanceOf[StatefulProcessorHandle]
    val state = new SparkKeyGroupState(handle)
    Seq(hours, staggered, byClock, edges).foreach(new KeyStore(state, _))
    Seq(0, 1).foreach(new SegmentEntries(state, _))
    new SourceStore(state): Unit
    new SubstreamStore(state, hours): Unit
    assertEquals(names.toSeq, CheckedLayoutSuite.checks.map(_._1).sorted)
  }
}

private object CheckedLayoutSuite {
  val checks: Seq[(String, String)] = Seq(
    // With several windows, a key has a value of one of these formats for each window.
    "keys" -> "version: StateCodecSuite, or ChangedLayoutSuite for lifetimes, with a schema number",
    "rows" -> "version and schema number: ChangedLayoutSuite",
    "group" -> "version: StateCodecSuite for timers, StoredWatermarksSuite for a time stage",
    "timers" -> "keys only: the types are in the spec, and the format belongs to `group`",
    "clock" -> "version: StateCodecSuite",
    "clock_timers" -> "keys only: the types are in the spec, and the format belongs to `clock`",
    "first_row" -> "version: StoredNumberSuite",
    "open_rows" -> "version: StoredNumberSuite",
    "directory" -> "version: StoredSegmentsSuite",
    "directory_1" -> "version: StoredSegmentsSuite",
    // An accumulator holds Spark's buffers, whose types are in the schema of the state. The rows
    // of `top` have a version and a schema number of their own: TopSuite.
    "segments" -> "version: StoredSegmentsSuite; bundles have that of `directory`",
    "segments_1" -> "version: StoredSegmentsSuite; bundles have that of `directory_1`",
    "sources" -> "version: StoredWatermarksSuite",
    "substreams" -> "version: StoredWatermarksSuite",
    "substream_timers" -> "version: StoredHeapsSuite, in the first entry of a heap")
}
