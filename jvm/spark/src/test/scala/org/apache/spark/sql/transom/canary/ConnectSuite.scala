package org.apache.spark.sql.transom.canary

import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv
import org.apache.spark.connect.proto
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, UnaryNode}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.connect.config.Connect
import org.apache.spark.sql.connect.planner.SparkConnectPlanner
import org.apache.spark.sql.connect.plugin.RelationPlugin
import org.apache.spark.sql.connect.service.SessionHolder
import org.sparkproject.connect.protobuf

/** How a Spark Connect server plans a relation of a plugin. */
class ConnectSuite extends CanarySuite {

  canary(
    "The Connect planner hands the bytes of an extension relation to the configured plugins. A " +
      "column with the plan id of the relation is one of the plan that replaces the plugin's node " +
      "and has its tags.",
    "ConnectRelations.scala",
    "Calls.scala") {
    val session = ProbeRelations.session(spark)
    SparkEnv.get.conf
      .set(Connect.CONNECT_EXTENSIONS_RELATION_CLASSES.key, classOf[ProbeRelations].getName)
    val planner = new SparkConnectPlanner(SessionHolder("user", "session", session), None)
    val hint = proto.Hint.newBuilder
      .setName("probe")
      .setInput(relation(1).setRange(proto.Range.newBuilder.setStart(0).setEnd(3).setStep(1)))
      .addParameters(text("a parameter"))
      .addParameters(column("id", 1))
    val probed = relation(2).setExtension(protobuf.Any.pack(hint.build))
    // Both sides of the join have these columns.
    val joined = proto.Join.newBuilder
      .setLeft(probed)
      .setRight(relation(3).setRange(proto.Range.newBuilder.setStart(2).setEnd(9).setStep(1)))
      .setJoinType(proto.Join.JoinType.JOIN_TYPE_INNER)
      .setJoinCondition(
        proto.Expression.newBuilder.setUnresolvedFunction(
          proto.Expression.UnresolvedFunction.newBuilder
            .setFunctionName("==")
            .addArguments(column("id", 2))
            .addArguments(column("id", 3))))
    val projected = proto.Project.newBuilder
      .setInput(relation(4).setJoin(joined))
      .addExpressions(column("id", 2))
      .addExpressions(column("probed", 2))
    val plan = planner.transformRelation(relation(5).setProject(projected).build)
    val rows = Dataset.ofRows(session, plan).collect().toSeq
    assertEquals(rows.map(_.toSeq), Seq(Seq[Any](2L, "a parameter")))
  }

  private def relation(planId: Long): proto.Relation.Builder =
    proto.Relation.newBuilder.setCommon(proto.RelationCommon.newBuilder.setPlanId(planId))

  private def text(value: String): proto.Expression.Builder =
    proto.Expression.newBuilder.setLiteral(proto.Expression.Literal.newBuilder.setString(value))

  private def column(name: String, planId: Long): proto.Expression.Builder =
    proto.Expression.newBuilder.setUnresolvedAttribute(
      proto.Expression.UnresolvedAttribute.newBuilder
        .setUnparsedIdentifier(name)
        .setPlanId(planId))
}

/** Reads a hint as a [[ProbedCall]]. */
private final class ProbeRelations extends RelationPlugin {
  override def transform(
      relation: Array[Byte],
      planner: SparkConnectPlanner): Optional[LogicalPlan] = {
    val hint = protobuf.Any.parseFrom(relation).unpack(classOf[proto.Hint])
    val parameters = hint.getParametersList.asScala
    planner.transformExpression(parameters(1))
    Optional.of(
      ProbedCall(parameters(0).getLiteral.getString, planner.transformRelation(hint.getInput)))
  }
}

private object ProbeRelations {

  /** A session that replaces the calls. The session of all suites stays the active one. */
  def session(ofSuites: SparkSession): SparkSession =
    try
      SparkSession
        .builder()
        .withExtensions(_.injectResolutionRule(_ => ReplaceProbedCalls))
        .create()
    finally {
      SparkSession.setDefaultSession(ofSuites)
      SparkSession.setActiveSession(ofSuites)
    }
}

/** A node that is never resolved. */
private final case class ProbedCall(parameter: String, child: LogicalPlan) extends UnaryNode {
  override lazy val resolved: Boolean = false
  override def output: Seq[Attribute] = Nil
  override protected def withNewChildInternal(newChild: LogicalPlan): ProbedCall =
    copy(child = newChild)
}

/** Replaces calls once their input is resolved. */
private object ReplaceProbedCalls extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case call: ProbedCall if call.child.resolved =>
      val parameter = Alias(Literal(call.parameter), "probed")()
      val answer = Project(call.child.output :+ parameter, call.child)
      answer.mergeTagsFrom(call)
      answer
  }
}
