package org.apache.spark.sql.transom.exchange

import scala.collection.mutable.ArrayBuffer

import munit.FunSuite
import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property

import transom.engine.judge.{PolicyRule, PolicyRules}
import transom.engine.time.Watermark

class RowLogSuite extends FunSuite {

  test("a record has the operator, the reason, the time and the watermark") {
    val records = recorded {
      val log = new RowLog("hours", 10, new LogBudget)
      log.dropped("no_time", None, Watermark.NotYet)
      val rules = PolicyRules(PolicyRule.LateArrival, PolicyRule.OutOfOrder)
      log.moved(rules, 1L, 2000000L)
    }
    assertEquals(
      records,
      Seq(
        "operator=hours action=dropped reason=no_time time=none watermark=none",
        "operator=hours action=moved reason=late_arrival,out_of_order " +
          "time=1970-01-01T00:00:00.000001Z watermark=1970-01-01T00:00:02Z"))
  }

  test("the logs of an operator share the records of a minute") {
    val budget = new LogBudget
    val records = recorded {
      (1 to 2).foreach { _ =>
        val log = new RowLog("hours", 3, budget)
        (1 to 2).foreach(_ => log.dropped("early", Some(0L), 0L))
      }
    }
    assertEquals(records.length, 3)
  }

  test("a minute starts with its first record") {
    val budget = new LogBudget
    val taken = Seq(50000L, 50001L, 109999L, 110000L, 110001L, 500000L).map(budget.take(1, _))
    assertEquals(taken, Seq(true, false, false, true, false, true))
  }

  /** The messages that row logs write meanwhile. */
  private def recorded(work: => Unit): Seq[String] = {
    val logger = LogManager.getLogger(classOf[RowLog].getName).asInstanceOf[Logger]
    val messages = ArrayBuffer.empty[String]
    val appender = new AbstractAppender("records", null, null, false, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit =
        messages += event.getMessage.getFormattedMessage
    }
    appender.start()
    val level = logger.getLevel
    logger.addAppender(appender)
    logger.setLevel(Level.WARN)
    try work
    finally {
      logger.removeAppender(appender)
      logger.setLevel(level)
    }
    messages.toSeq
  }
}
