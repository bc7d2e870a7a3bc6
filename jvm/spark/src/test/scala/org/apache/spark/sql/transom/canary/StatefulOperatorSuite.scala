package org.apache.spark.sql.transom.canary

import scala.collection.AbstractIterator

import org.apache.spark.TaskContext
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types.{DataType, IntegerType}

import transom.engine.state.KeyGroups

/** How `TransformWithState` calls a stateful processor. */
class StatefulOperatorSuite extends CanarySuite {

  canary(
    "The rows of all keys come before the timers, and a timer that is deleted with the rows of " +
      "its key does not expire.",
    "KeyGroupProcessor.scala") {
    // The id of a row is the second at which its key sets a timer.
    val feed = new Feed(
      Seq(ProbeRow(1, 10, 20), ProbeRow(2, 10, 20)),
      Seq(ProbeRow(3, 30, 90)),
      Seq(ProbeRow(1, 30, 90)))
    run(Probe.operator(Probe.input(feed.timed(spark)), new MovesTimer))
    assertEquals(Journal.of(2), Seq("rows of 1", "timer of 2 at 20"))
  }

  canary("A timer expires as soon as the watermark is equal to its time.", "GroupTimer.scala") {
    val feed = new Feed(Seq(ProbeRow(1, 30, 30), ProbeRow(2, 30, 31)), Seq(ProbeRow(3, 30, 90)))
    run(Probe.operator(Probe.input(feed.timed(spark)), new MovesTimer))
    assertEquals(Journal.of(1), Seq("rows of 3", "timer of 1 at 30"))
  }

  canary(
    "Spark deletes an expired timer after the last output row, and keeps a timer that was set " +
      "while these rows were consumed.",
    "KeyGroupProcessor.scala") {
    val feed = new Feed(
      Seq(ProbeRow(1, 10, 20)),
      Seq(ProbeRow(2, 30, 90)),
      Seq(ProbeRow(2, 30, 91)),
      Seq(ProbeRow(1, 30, 92)))
    run(Probe.operator(Probe.input(feed.timed(spark)), new RenewsTimer))
    assertEquals(Journal.of(2), Seq("rows of 2, timers 90", "timer of 1 at 20"))
    assertEquals(Journal.of(3), Seq("rows of 1, timers 1020"))
  }

  canary(
    "A key is processed after the consumer has exhausted the rows of the key before. Its input " +
      "is read as its output is consumed.",
    "KeyGroupOutput.scala",
    "KeyGroupProcessor.scala") {
    val feed =
      new Feed(Seq(ProbeRow(1, 10, 11), ProbeRow(1, 10, 12), ProbeRow(2, 10, 21)))
    run(Probe.operator(Probe.input(feed.timed(spark)), new ReadsLazily))
    assertEquals(
      Journal.of(0),
      Seq("called for 1", "read", "read", "end of 1", "called for 2", "read", "end of 2"))
  }

  canary(
    "State that is written while the output of a key is consumed belongs to that key, and is " +
      "committed.",
    "KeyGroupOutput.scala",
    "KeyGroupProcessor.scala") {
    val rows = Seq(ProbeRow(1, 10, 11), ProbeRow(2, 10, 21))
    run(Probe.operator(Probe.input(new Feed(rows, rows).timed(spark)), new KeepsLast))
    assertEquals(Journal.of(0), Seq("1 had nothing", "2 had nothing"))
    assertEquals(Journal.of(1), Seq("1 had 11", "2 had 21"))
  }

  canary(
    "Spark generates no code for a projection where the settings of the thread say so.",
    "SparkKeyGroupState.scala") {
    val conf = new SQLConf
    conf.setConf(SQLConf.CODEGEN_FACTORY_MODE, CodegenObjectFactoryMode.NO_CODEGEN)
    def projection = UnsafeProjection.create(Array[DataType](IntegerType))
    assert(!projection.isInstanceOf[InterpretedUnsafeProjection])
    SQLConf.withExistingConf(conf)(assert(projection.isInstanceOf[InterpretedUnsafeProjection]))
  }

  canary(
    "Spark drops late rows before the processor sees them only if a column carries the " +
      "watermark as metadata.",
    "ExchangeFormat.scala",
    "WindowPlanner.scala") {
    def seen(late: Long, isStripped: Boolean): Seq[String] = {
      Journal.clear()
      val feed =
        new Feed(Seq(ProbeRow(1, 100, 1)), Seq(ProbeRow(1, 100, 2)), Seq(ProbeRow(1, late, 3)))
      val rows = feed.timed(spark)
      run(Probe.operator(if (isStripped) Probe.input(rows) else rows, new NotesIds))
      Journal.of(2)
    }
    assertEquals(seen(late = 1, isStripped = true), Seq("3"))
    // The other two runs show that the first run would notice a filter.
    assertEquals(seen(late = 1, isStripped = false), Nil)
    assertEquals(seen(late = 101, isStripped = false), Seq("3"))
  }

  canary(
    "The rows of the key whose Murmur3 hash is i are processed in partition i modulo the number " +
      "of partitions.",
    "KeyGroups.scala") {
    (0 until 4096).foreach { group =>
      assertEquals(new Murmur3Hash(Seq(Literal(KeyGroups.idOf(group)))).eval(), group)
    }
    val rows = (0 until 16).map(group => ProbeRow(KeyGroups.idOf(group), 10, group.toLong))
    withPartitions(5) {
      run(Probe.operator(Probe.input(new Feed(rows).timed(spark)), new NotesPartitions))
    }
    assertEquals(Journal.of(0).toSet, (0 until 16).map(group => s"$group in ${group % 5}").toSet)
  }

  canary(
    "The watermark is 0 until there is one, and times before 1970 leave it at 0.",
    "SparkWatermark.scala",
    "GroupTimer.scala") {
    val feed = new Feed(
      Seq(ProbeRow(1, -100, 1)),
      Seq(ProbeRow(1, -50, 2)),
      Seq(ProbeRow(1, 7, 3)),
      Seq(ProbeRow(1, 8, 4)))
    run(Probe.operator(Probe.input(feed.timed(spark)), new NotesWatermarks))
    assertEquals((0 to 3).flatMap(Journal.of(_)), Seq("0", "0", "0", "7000"))
  }
}

/** Replaces the timers of a key, when the output of its rows has been consumed. */
private final class MovesTimer extends ProbeProcessor {
  override def handleInputRows(
      group: Int,
      ids: Iterator[Long],
      timerValues: TimerValues): Iterator[Emission] = {
    Journal.add(s"rows of $group")
    Iterator.single(new Emission(AtEnd {
      getHandle.listTimers().toSeq.foreach(getHandle.deleteTimer)
      ids.foreach(second => getHandle.registerTimer(second * 1000L))
    }))
  }

  override def handleExpiredTimer(
      group: Int,
      timerValues: TimerValues,
      expired: ExpiredTimerInfo): Iterator[Emission] = {
    Journal.add(s"timer of $group at ${expired.getExpiryTimeInMs() / 1000L}")
    Iterator.single(new Emission(Iterator.empty))
  }
}

/** Sets the timer of a key again, 1000 seconds later, when the output of its timer has been
  * consumed.
  */
private final class RenewsTimer extends ProbeProcessor {
  override def handleInputRows(
      group: Int,
      ids: Iterator[Long],
      timerValues: TimerValues): Iterator[Emission] = {
    val timers = getHandle.listTimers().map(_ / 1000L).toSeq
    if (timers.nonEmpty) Journal.add(s"rows of $group, timers ${timers.mkString(", ")}")
    ids.foreach(second => getHandle.registerTimer(second * 1000L))
    Iterator.single(new Emission(Iterator.empty))
  }

  override def handleExpiredTimer(
      group: Int,
      timerValues: TimerValues,
      expired: ExpiredTimerInfo): Iterator[Emission] = {
    val second = expired.getExpiryTimeInMs() / 1000L
    Journal.add(s"timer of $group at $second")
    Iterator.single(new Emission(AtEnd(getHandle.registerTimer((second + 1000L) * 1000L))))
  }
}

private final class ReadsLazily extends ProbeProcessor {
  override def handleInputRows(
      group: Int,
      ids: Iterator[Long],
      timerValues: TimerValues): Iterator[Emission] = {
    Journal.add(s"called for $group")
    val rows = ids.map { id =>
      Journal.add("read")
      ProbeRow(group, None, id)
    }
    Iterator.single(new Emission(rows ++ AtEnd(Journal.add(s"end of $group"))))
  }
}

private final class KeepsLast extends ProbeProcessor {
  @transient private var last: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    last = getHandle.getValueState("last", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(
      group: Int,
      ids: Iterator[Long],
      timerValues: TimerValues): Iterator[Emission] =
    Iterator.single(new Emission(AtEnd {
      Journal.add(s"$group had ${if (last.exists()) last.get().toString else "nothing"}")
      ids.foreach(last.update)
    }))
}

private final class NotesIds extends ProbeProcessor {
  override def handleInputRows(
      group: Int,
      ids: Iterator[Long],
      timerValues: TimerValues): Iterator[Emission] = {
    ids.foreach(id => Journal.add(id.toString))
    Iterator.empty
  }
}

private final class NotesPartitions extends ProbeProcessor {
  override def handleInputRows(
      group: Int,
      ids: Iterator[Long],
      timerValues: TimerValues): Iterator[Emission] = {
    ids.foreach(id => Journal.add(s"$id in ${TaskContext.getPartitionId()}"))
    Iterator.empty
  }
}

private final class NotesWatermarks extends ProbeProcessor {
  override def handleInputRows(
      group: Int,
      ids: Iterator[Long],
      timerValues: TimerValues): Iterator[Emission] = {
    ids.foreach(_ => Journal.add(timerValues.getCurrentWatermarkInMs().toString))
    Iterator.empty
  }
}

/** An iterator without rows that runs `end` when its consumer requests the first row. */
private object AtEnd {
  def apply(end: => Unit): Iterator[ProbeRow] = new AbstractIterator[ProbeRow] {
    private var isOver = false
    override def hasNext: Boolean = {
      if (!isOver) {
        isOver = true
        end
      }
      false
    }
    override def next(): ProbeRow = Iterator.empty.next()
  }
}
