package org.apache.spark.sql.transom

/** The way from the tasks that read rows to the tasks of the key groups.
  *
  * {{{
  * rows ──► MapSide ──► ExchangeEncoder ──► shuffle and sort ──► ExchangeDecoder ──► inputs
  *          counts      segment batches     of Spark             merges ordered
  *          refuses     chunks of rows                           chunks, if the
  *          combines    times of rows                            rows have an order
  *                      messages
  * }}}
  *
  * A map side counts its rows, refuses rows that cannot be assigned to a window, and combines the
  * other rows or packs them into chunks. So Spark shuffles and sorts a few large rows, and does
  * not handle each key. `ExchangeFormat.scala` is the only file that knows the bytes.
  *
  * If the rows stay with their task, only their times cross the exchange. The time stage sends
  * judgements back, and `HeldRows.scala` joins judgements and rows.
  */
package object exchange
