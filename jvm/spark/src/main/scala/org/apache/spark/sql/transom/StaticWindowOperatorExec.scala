package org.apache.spark.sql.transom

import scala.collection.AbstractIterator
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.SparkPlan

import transom.engine.keyed.state.MemoryKeyStore
import transom.engine.state.MemoryStore
import transom.engine.time.Watermark

/** Window operator of a static DataFrame. Runs the engine on a store in memory, one key group
  * after the other. Event time ends after the last row of a group, so that all windows fire.
  * Spark's batch plan for stateful processors does not support event time, so it is not used.
  */
case class StaticWindowOperatorExec(
    operatorPlan: WindowOperatorPlan,
    output: Seq[Attribute],
    child: SparkPlan)
    extends ResultRowsExec {

  override def inputRDD: RDD[InternalRow] = {
    val (taskPlan, nowMs) = (operatorPlan, System.currentTimeMillis())
    child.execute().mapPartitionsInternal { rows =>
      val runGroup = StaticWindowOperatorExec.groupRunner(taskPlan, nowMs)
      val left = rows.filter(_.getInt(ExchangeFormat.Kind) != ExchangeFormat.Counts).buffered
      Iterator.continually(left).takeWhile(_.hasNext).flatMap { left =>
        val group = left.head.getInt(ExchangeFormat.Group)
        runGroup(
          group,
          new AbstractIterator[InternalRow] {
            override def hasNext: Boolean =
              left.hasNext && left.head.getInt(ExchangeFormat.Group) == group
            override def next(): InternalRow = left.next()
          })
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): StaticWindowOperatorExec =
    copy(child = newChild)
}

/** Runs key groups on a store in memory. */
private object StaticWindowOperatorExec {

  /** Returns a function from the exchange rows of a key group to its output rows. */
  private def groupRunner(
      operatorPlan: WindowOperatorPlan,
      nowMs: Long): (Int, Iterator[InternalRow]) => Iterator[InternalRow] =
    operatorPlan.layout match {
      case SliceLayout =>
        val aggregation = new FinalAggregation(operatorPlan)
        lazy val sideOutputs = new SideOutputRows(operatorPlan)
        (_, rows) => {
          val log = new KeyGroupLog(operatorPlan, aggregation, new MemoryStore)
          val dead = ArrayBuffer.empty[InternalRow]
          rows.foreach { row =>
            if (row.getInt(ExchangeFormat.Kind) == ExchangeFormat.DeadLetter) dead += row.copy()
            else log.append(row.getBinary(ExchangeFormat.Payload), Watermark.NotYet)
          }
          dead.iterator.map(sideOutputs.deadLetter(_, nowMs)) ++
            log.fire(Long.MaxValue)
        }
      case KeyedLayout =>
        val task = new KeyedTask(operatorPlan)
        (group, rows) =>
          task.process(group, new MemoryKeyStore, rows, Long.MaxValue, nowMs, new RowCounts)(
            (_, _) => ())
    }
}
