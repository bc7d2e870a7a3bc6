package transom.crashing

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager

/** Spark's checkpoint file manager with the crashes of [[CrashPlan]].
  *
  * Every durable write of a streaming query ends in a rename. Such writes are the logs of
  * offsets, commits, sources and the file sink, the state, and the specs of the window operators.
  */
final class CrashingFileManager(path: Path, conf: Configuration)
    extends FileContextBasedCheckpointFileManager(path, conf) {

  override def renameTempFile(from: Path, to: Path, overwriteIfPossible: Boolean): Unit =
    CrashPlan.write(to.toUri.getPath) {
      super.renameTempFile(from, to, overwriteIfPossible)
    }
}
