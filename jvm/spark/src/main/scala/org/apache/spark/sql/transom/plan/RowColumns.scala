package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.functions.{current_timestamp, lit}
import org.apache.spark.sql.transom.function.NullOnError
import org.apache.spark.sql.types.{LongType, StringType, StructType, TimestampType}

import transom.engine.spec._

/** The columns that a time policy reads, as attributes of the rows.
  *
  * @param arrival
  *   arrival time of a row, a timestamp
  * @param punctuation
  *   whether a row is punctuation, if the policy has any
  * @param partition
  *   the input partition as a string, if the policy names one
  * @param over
  *   the columns of the substream
  * @param order
  *   the columns that define the order of arrival; empty if rows keep the order in which they are
  *   read
  * @param partitions
  *   the ids of all partitions; empty if the policy does not name them
  */
final class PolicyColumns(
    val arrival: Attribute,
    val punctuation: Option[Attribute],
    val partition: Option[Attribute],
    val over: Seq[Attribute],
    val order: Seq[Attribute],
    val partitions: Seq[String]) {

  /** The columns besides the order. */
  def sources: Seq[Attribute] = Seq(arrival) ++ punctuation ++ partition ++ over
}

/** Columns that the planner adds to input rows: time, window, order and the columns of a policy.
  * Their names tell them apart in a plan.
  */
object RowColumns {

  /** The name of the time, also of a hidden column of the input that has a watermark. */
  final val Time = "__transom_time"

  private final val Placing = "__transom_placing"
  private final val End = "__transom_end"
  private final val IdPrefix = "__transom_id_"
  private final val OrderPrefix = "__transom_order_"
  private final val ArrivalColumn = "__transom_arrival"
  private final val Partition = "__transom_partition"
  private final val When = "__transom_when"
  private final val At = "__transom_at"
  private final val OverPrefix = "__transom_over_"

  /** A column with its index in the message, if the message names it. */
  type Indexed = (Option[Int], Column)

  /** The time of a row. Rows without a time have the year 1970. */
  def time(time: Option[Time], columns: Int => Column): Indexed = {
    val (index, otherwise) = time match {
      case Some(EventTime(column, _)) => (Some(column), None)
      case Some(policy: TimePolicy) => (policy.timeColumn, Some(arrival(policy, columns)))
      case _ => (None, None)
    }
    val column = index.map(columns).orElse(otherwise).getOrElse(lit(0L).cast(TimestampType))
    index -> column.as(Time)
  }

  /** The gap or the windows of a row. */
  def window(index: Int, columns: Int => Column): Indexed =
    Some(index) -> columns(index).as(Placing)

  /** The end or the duration of a row's lifetime. `guarded` replaces it by the end. */
  def end(lifetime: Lifetime, columns: Int => Column): Indexed = {
    val index = lifetime.endColumn.orElse(lifetime.durationColumn)
    index -> index.fold(lit(lifetime.durationUs.get))(columns).as(End)
  }

  /** The columns that identify a lifetime whose end is in another row. */
  def ids(lifetime: Lifetime, columns: Int => Column): Seq[Indexed] =
    numbered(lifetime.idColumns, IdPrefix, columns)

  /** The key in the metadata of a window that says that the end belongs to the window. */
  final val IncludesEnd = "transom.includesEnd"

  /** The time in microseconds. A window counts as its last instant. */
  def lastInstant(time: Expression): Expression = time.dataType match {
    case window: StructType =>
      val end = PreciseTimestampConversion(GetStructField(time, 1), window(1).dataType, LongType)
      time match {
        case result: Attribute if result.metadata.contains(IncludesEnd) => end
        case _ => Subtract(end, Literal(1L))
      }
    case instant => PreciseTimestampConversion(time, instant, LongType)
  }

  /** The columns that define the order of arrival. */
  def order(indexes: Seq[Int], columns: Int => Column): Seq[Indexed] =
    numbered(indexes, OrderPrefix, columns)

  /** The columns that a time policy reads besides the time. */
  def policy(policy: TimePolicy, columns: Int => Column): Seq[Indexed] =
    Seq(policy.arrivalColumn -> arrival(policy, columns).as(ArrivalColumn)) ++
      policy.partitionColumn.map(index =>
        Some(index) -> columns(index).cast(StringType).as(Partition)) ++
      punctuation(policy.advance, columns) ++
      numbered(policy.overColumns, OverPrefix, columns)

  private def punctuation(advance: AdvanceRule, columns: Int => Column): Seq[Indexed] =
    advance match {
      case Punctuated(when, at, _) =>
        Seq(Some(when) -> columns(when).as(When), Some(at) -> columns(at).as(At))
      case _: Periodic => Nil
    }

  private def arrival(policy: TimePolicy, columns: Int => Column): Column =
    policy.arrivalColumn.fold(current_timestamp())(columns)

  private def numbered(indexes: Seq[Int], prefix: String, columns: Int => Column): Seq[Indexed] =
    indexes.zipWithIndex.map { case (index, i) => Some(index) -> columns(index).as(prefix + i) }

  /** Makes the added columns null where their expressions fail, except the gap or the windows of
    * a row. Then it replaces three of them:
    *
    *   - the end or the duration of a lifetime, by the end that operators read
    *   - the time of a row that ends a lifetime, by this end
    *   - the time of a punctuation, by the watermark that it sets
    *
    * A row has no time if the condition for punctuation fails.
    *
    * It also replaces the partition by its id.
    *
    * @param rows
    *   rows with the added columns
    */
  def guarded(
      rows: LogicalPlan,
      lifetime: Option[Lifetime] = None,
      policy: Option[TimePolicy] = None): LogicalPlan = rows match {
    case Project(columns, child) =>
      val edges = lifetime.filter(_.hasEdges)
      def added(name: String) = columns.findLast(_.name == name).map(valueOf)
      def start = added(Time).get
      def end = added(End).get
      def time =
        if (edges.isDefined) LifetimeEnd.edgeTime(NullOnError.of(start), end) else start
      Project(
        columns.map {
          case column if column.name == End =>
            val ids = columns.filter(_.name.startsWith(IdPrefix)).map(valueOf)
            val built =
              if (edges.isDefined) LifetimeEnd.edge(start, end, ids)
              else LifetimeEnd.of(lifetime.get, start, end)
            Alias(built, End)(column.exprId)
          case column if column.name == When =>
            val isTrue = Coalesce(Seq(NullOnError.of(valueOf(column)), Literal.FalseLiteral))
            Alias(isTrue, When)(column.exprId)
          case column if column.name == Time && added(When).isDefined =>
            val at = LifetimeEnd.inTypeOf(start, added(At).get)
            Alias(NullOnError(If(added(When).get, at, time)), Time)(column.exprId)
          case alias: Alias if edges.isDefined && alias.name == Time =>
            Alias(time, Time)(alias.exprId)
          case alias: Alias if alias.name == Partition =>
            val id = PartitionIds.of(alias.child, policy.toSeq.flatMap(_.partitions))
            Alias(NullOnError.of(id), Partition)(alias.exprId)
          case alias: Alias if guardedPrefixes.exists(alias.name.startsWith) =>
            Alias(NullOnError.of(alias.child), alias.name)(
              alias.exprId,
              explicitMetadata = Some(alias.metadata))
          case other => other
        },
        child)
    case other => other
  }

  private def valueOf(column: NamedExpression): Expression = column match {
    case Alias(child, _) => child
    case other => other
  }

  private val guardedPrefixes =
    Seq(Time, At, IdPrefix, ArrivalColumn, OverPrefix, OrderPrefix)

  /** The user's columns by their index in the message.
    *
    * @param expressions
    *   the added columns, in order, as expressions over the input
    */
  def byIndex(added: Seq[Indexed], expressions: Seq[Expression]): Map[Int, Expression] =
    added
      .map(_._1)
      .zip(expressions)
      .flatMap { case (index, column) => index.map(_ -> column) }
      .toMap

  /** The column that places a row in its windows besides its time, if there is one. */
  def placingIn(added: Seq[Attribute]): Option[Attribute] =
    added.find(column => Set(Placing, End)(column.name))

  def orderIn(added: Seq[Attribute]): Seq[Attribute] =
    added.filter(_.name.startsWith(OrderPrefix))

  /** The columns that the policy reads.
    *
    * @param rows
    *   rows with the added columns, before `guarded` replaces any
    */
  def policyIn(added: Seq[Attribute], policy: TimePolicy, rows: LogicalPlan): PolicyColumns =
    new PolicyColumns(
      added.find(_.name == ArrivalColumn).get,
      added.find(_.name == When),
      added.find(_.name == Partition),
      added.filter(_.name.startsWith(OverPrefix)),
      orderIn(added),
      rows.expressions
        .collectFirst { case Alias(column, Partition) => column }
        .fold(policy.partitions)(PartitionIds.distinct(_, policy.partitions)))
}
