package transom.crashing

import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission

/** A local file system for the rows of sinks and sources that starts no processes for
  * permissions. Set the class as `fs.file.impl`.
  */
final class QuickLocalFileSystem extends LocalFileSystem(new QuickRawFileSystem)

/** A raw local file system that sets no permissions. */
private final class QuickRawFileSystem extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = ()
}
