package transom.engine.keyed

/** Several windows in one pass for one key: the windows that share no slices.
  *
  * `SeveralOperator` is a `PerKeyOperator` over the operators of its members. The state of a key
  * has a part for each member, and each member has rows of its own. A row is late if it is late
  * for all members. Members may have different conventions of their bounds, so times and
  * watermarks are converted for each of them (`MemberTimes`).
  */
package object several
