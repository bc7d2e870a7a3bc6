package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.catalyst.expressions.Attribute

import transom.engine.spec.TimePolicy

/** The columns by which an operator judges rows itself, because its time policy has substreams.
  *
  * @param arrival
  *   the arrival time of a row, in microseconds since 1970
  * @param keys
  *   positions of the keys that identify a substream, in ascending order
  * @param punctuation
  *   whether a row is punctuation, if the policy has any
  */
final case class SubstreamColumns(
    policy: TimePolicy,
    arrival: Attribute,
    keys: Seq[Int],
    punctuation: Option[Attribute] = None) {

  /** The columns that only the time policy reads. */
  def ofPolicy: Seq[Attribute] = arrival +: punctuation.toSeq
}
