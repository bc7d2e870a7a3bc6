package org.apache.spark.sql.transom

/** The spec that the checkpoint of a query holds, and its comparison with the spec of the new
  * run.
  *
  * The state can be read only with the spec and the schema by which it was written. The file
  * `transom/window.json` in the checkpoint holds both. The first batch of a run compares them, so
  * a changed spec is refused before a state is read.
  */
package object checkpoint
