package org.apache.spark.sql.transom.planned

import munit.FunSuite
import org.apache.spark.SparkEnv
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.TestSession
import org.apache.spark.sql.transom.error.TransomException

import transom.engine.state.Limits

class TaskLimitsSuite extends FunSuite {
  override def beforeAll(): Unit = TestSession.spark: Unit

  private def limits(settings: (String, String)*): Limits = {
    val conf = new SQLConf
    settings.foreach { case (name, value) =>
      conf.setConfString(s"spark.transom.limits.$name", value)
    }
    SQLConf.withExistingConf(conf)(TaskLimits.current)
  }

  test("a setting replaces one limit and leaves the others") {
    val derived = limits()
    Seq[(String, Limits)](
      "combined" -> derived.copy(combined = 777L),
      "payload" -> derived.copy(payload = 777),
      "keys" -> derived.copy(keys = 777L),
      "segments" -> derived.copy(segments = 777L),
      "shared" -> derived.copy(shared = 777L),
      "sessions" -> derived.copy(sessions = 777L),
      "bundle" -> derived.copy(bundle = 777)).foreach { case (name, expected) =>
      assertEquals(limits(name -> "777"), expected)
    }
  }

  test("a size may have a unit, from 1 byte to the largest array") {
    assertEquals(limits("combined" -> "32m").combined, 32L * 1024 * 1024)
    assertEquals(limits("payload" -> "1").payload, 1)
    assertEquals(limits("keys" -> "2147483647").keys, 2147483647L)
  }

  test("an invalid size is rejected with the setting and its value") {
    Seq("0", "-1", "2147483648", "2g", "many", "", "1.5m", "99999999999g").foreach { value =>
      val error = intercept[TransomException](limits("bundle" -> value))
      assertEquals(error.getCondition, "TRANSOM_BAD_LIMIT")
      assertEquals(error.getMessageParameters.get("setting"), "spark.transom.limits.bundle")
      assertEquals(error.getMessageParameters.get("value"), value)
    }
  }

  test("limits follow from the heap and the number of tasks that run at once") {
    val conf = SparkEnv.get.conf
    val heap = Runtime.getRuntime.maxMemory
    conf.set("spark.executor.cores", "6").set("spark.task.cpus", "3")
    try assertEquals(limits().combined, heap / 2 / 32)
    finally conf.remove("spark.executor.cores").remove("spark.task.cpus")
  }
}
