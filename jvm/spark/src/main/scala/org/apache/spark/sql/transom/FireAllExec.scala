package org.apache.spark.sql.transom

import scala.collection.AbstractIterator
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.SparkPlan

import transom.engine.Watermark
import transom.engine.keyed.MemoryKeyStore
import transom.engine.log.MemoryStore

/** The window stage of a static DataFrame: the same engine over memory, group after group; then
  * time ends and every window fires. Spark's batch plan for stateful processors knows no event
  * time.
  */
case class FireAllExec(stage: WindowStage, output: Seq[Attribute], child: SparkPlan)
    extends FiredRowsExec {

  override def inputRDD: RDD[InternalRow] = {
    val (stageOfTasks, nowMs) = (stage, System.currentTimeMillis())
    child.execute().mapPartitionsInternal { rows =>
      val fired = FireAllExec.firing(stageOfTasks, nowMs)
      val left = rows.filter(_.getInt(Exchanged.Kind) != Exchanged.Counts).buffered
      Iterator.continually(left).takeWhile(_.hasNext).flatMap { left =>
        val group = left.head.getInt(Exchanged.Group)
        fired(
          group,
          new AbstractIterator[InternalRow] {
            override def hasNext: Boolean =
              left.hasNext && left.head.getInt(Exchanged.Group) == group
            override def next(): InternalRow = left.next()
          })
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): FireAllExec =
    copy(child = newChild)
}

private object FireAllExec {

  /** What the rows of a key group fire. */
  private def firing(
      stage: WindowStage,
      nowMs: Long): (Int, Iterator[InternalRow]) => Iterator[InternalRow] =
    stage.layout match {
      case SliceLayout =>
        val aggregation = new FinalAggregation(stage)
        lazy val refused = new RefusedOutput(stage)
        (_, rows) => {
          val log = new KeyGroupLog(stage, aggregation, new MemoryStore)
          val dead = ArrayBuffer.empty[InternalRow]
          rows.foreach { row =>
            if (row.getInt(Exchanged.Kind) == Exchanged.Dead) dead += row.copy()
            else log.append(row.getBinary(Exchanged.Payload), Watermark.NotYet)
          }
          dead.iterator.map(refused.dead(_, nowMs)) ++
            log.fire(Long.MaxValue)
        }
      case KeyedLayout =>
        val task = new KeyedTask(stage)
        (group, rows) =>
          task.visit(group, new MemoryKeyStore, rows, Long.MaxValue, nowMs, new RowCounts)(
            (_, _) => ())
    }
}
