package transom.spark

import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.connect.proto.Hint
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connect.planner.SparkConnectPlanner
import org.apache.spark.sql.connect.plugin.RelationPlugin
import org.apache.spark.sql.transom.connect.Call
import org.sparkproject.connect.protobuf.Any

/** The value of `spark.connect.extensions.relation.classes` with which a Spark Connect server
  * reads the calls of the Python package.
  *
  * A call crosses as Spark's own message of a hint. Its name is "transom." and the method. Its
  * parameters are the version of the package, the message, and the columns.
  */
final class ConnectRelations extends RelationPlugin {
  private val prefix = "transom."

  override def transform(
      relation: Array[Byte],
      planner: SparkConnectPlanner): Optional[LogicalPlan] = {
    val any = Any.parseFrom(relation)
    if (any.is(classOf[Hint])) callOf(any.unpack(classOf[Hint]), planner) else Optional.empty()
  }

  private def callOf(hint: Hint, planner: SparkConnectPlanner): Optional[LogicalPlan] =
    if (!hint.getName.startsWith(prefix)) Optional.empty()
    else {
      Call.check(planner.session, packageVersion = text(hint, 0))
      val columns = hint.getParametersList.asScala.toSeq.drop(2)
      Optional.of(
        Call.of(
          hint.getName.substring(prefix.length),
          text(hint, 1),
          columns.map(planner.transformExpression),
          planner.transformRelation(hint.getInput)))
    }

  private def text(hint: Hint, index: Int): String =
    hint.getParameters(index).getLiteral.getString
}
