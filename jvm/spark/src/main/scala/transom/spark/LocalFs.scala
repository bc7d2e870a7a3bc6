package transom.spark

import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.local.LocalConfigKeys
import org.apache.hadoop.fs.permission.FsPermission

/** The value of `fs.AbstractFileSystem.file.impl` with which checkpoints on a local disk start no
  * processes.
  *
  * Hadoop's own file system starts `chmod` for each file that it creates, and `readlink` four
  * times for each file that it renames, if its native library is missing. PySpark does not have
  * this library. This file system uses the JVM instead, and else does the same.
  */
final class LocalFs(uri: URI, conf: Configuration) extends ChecksumFs(new RawLocalFs(uri, conf))

/** Adapts [[RawFiles]] to `FileContext`, as Hadoop does with its own local file system. */
private final class RawLocalFs(uri: URI, conf: Configuration)
    extends DelegateToFileSystem(
      FsConstants.LOCAL_FS_URI,
      new RawFiles,
      conf,
      FsConstants.LOCAL_FS_URI.getScheme,
      false) {
  override def getUriDefaultPort: Int = -1
  override def getServerDefaults(path: Path): FsServerDefaults = LocalConfigKeys.getServerDefaults
  override def isValidName(path: String): Boolean = true
}

/** Hadoop's local files, without processes. */
private final class RawFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val file = pathToFile(path).toPath
    val isPosix = file.getFileSystem.supportedFileAttributeViews.contains("posix")
    if (permission.getStickyBit || !isPosix) super.setPermission(path, permission)
    else
      Files.setPosixFilePermissions(
        file,
        PosixFilePermissions.fromString(permission.toString)): Unit
  }

  override def getFileLinkStatus(path: Path): FileStatus =
    if (Files.isSymbolicLink(pathToFile(path).toPath)) super.getFileLinkStatus(path)
    else getFileStatus(path)
}
