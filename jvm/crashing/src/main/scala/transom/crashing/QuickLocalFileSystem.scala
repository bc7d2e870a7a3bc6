package transom.crashing

import java.net.URI

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.local.LocalConfigKeys
import org.apache.hadoop.fs.permission.FsPermission

/** A local file system that starts no processes for permissions and links, unlike Hadoop's. This
  * saves about thirty calls of `chmod` and `readlink` per batch. Set the class as `fs.file.impl`.
  */
final class QuickLocalFileSystem extends LocalFileSystem(new QuickRawFileSystem)

/** The same file system for `FileContext`. Set the class as `fs.AbstractFileSystem.file.impl`. */
final class QuickLocalFs(uri: URI, conf: Configuration)
    extends ChecksumFs(new QuickRawFs(uri, conf))

/** Adapts [[QuickRawFileSystem]] to `FileContext`. */
private final class QuickRawFs(uri: URI, conf: Configuration)
    extends DelegateToFileSystem(
      FsConstants.LOCAL_FS_URI,
      new QuickRawFileSystem,
      conf,
      FsConstants.LOCAL_FS_URI.getScheme,
      false) {
  override def getUriDefaultPort: Int = -1
  override def getServerDefaults(path: Path): FsServerDefaults = LocalConfigKeys.getServerDefaults
  override def isValidName(path: String): Boolean = true
}

/** A raw local file system that neither sets permissions nor resolves links. */
private final class QuickRawFileSystem extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = ()
  // Checkpoint files are never symbolic links.
  override def getFileLinkStatus(path: Path): FileStatus = getFileStatus(path)
}
