package org.apache.spark.sql.transom

/** Windows in SQL: `GROUP BY origin, transom_hopping(departed, '1 hour', '5 minutes')`.
  *
  * {{{
  * GROUP BY call ── ResolveWindows ──> columns of the result, as aliases below the aggregation
  *                                                  │  Spark resolves SELECT, HAVING, ORDER BY
  * plan of the operator <── ReplaceWindows ─────────┘
  *                              └── SqlMessage: the message that Python sends for the same query
  * }}}
  *
  * Each window, trigger, evictor, time and rule of Python has a function (`SqlFunctions`) with
  * the same arguments. A call is no value of a row (`ValueCall`). It is written into the message
  * of Python, so that both languages have the same defaults, checks and plans. A rule cannot
  * replace the aggregation at once, because Spark resolves `HAVING` and `ORDER BY` against it.
  */
package object sql
