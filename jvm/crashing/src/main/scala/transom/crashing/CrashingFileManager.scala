package transom.crashing

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager

/** Spark's file manager for checkpoints, with the crashes of [[CrashPlan]]. Every durable write
  * of a streaming query ends in a rename: the logs of offsets, commits, sources and of the file
  * sink, the state, and the specs of our operators.
  */
final class CrashingFileManager(path: Path, conf: Configuration)
    extends FileContextBasedCheckpointFileManager(path, conf) {

  override def renameTempFile(from: Path, to: Path, overwriteIfPossible: Boolean): Unit =
    CrashPlan.write(to.toUri.getPath) {
      super.renameTempFile(from, to, overwriteIfPossible)
    }
}
