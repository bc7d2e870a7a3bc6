package transom.spark

import java.nio.file.{Files, Path => LocalPath}
import java.nio.file.attribute.PosixFilePermissions

import jdk.jfr.Recording
import jdk.jfr.consumer.RecordingFile
import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager

/** Checkpoint files on a local disk, as Spark writes them. */
class LocalFsSuite extends FunSuite {
  private val folder = FunFixture[LocalPath](
    _ => Files.createTempDirectory("local-fs"),
    path => FileContext.getLocalFSFileContext.delete(new Path(path.toUri), true): Unit)

  folder.test("a file is replaced only if it may be") { folder =>
    val files = new CheckpointFiles(folder, ours)
    files.write("1.delta", "first", mayReplace = false)
    intercept[FileAlreadyExistsException](files.write("1.delta", "second", mayReplace = false))
    assertEquals(files.read("1.delta"), "first")
    files.write("1.delta", "third", mayReplace = true)
    assertEquals(files.read("1.delta"), "third")
  }

  folder.test("Hadoop reads what it and we have written in turn") { folder =>
    val (own, hadoops) = (new CheckpointFiles(folder, ours), new CheckpointFiles(folder, hadoop))
    hadoops.write("1.delta", "first", mayReplace = true)
    assertEquals(own.read("1.delta"), "first")
    own.write("1.delta", "second", mayReplace = true)
    assertEquals(hadoops.read("1.delta"), "second")
    hadoops.write("1.delta", "third", mayReplace = true)
    assertEquals(own.read("1.delta"), "third")
  }

  folder.test("files and folders have the permissions that Hadoop's setting asks for") { folder =>
    val conf = ours
    conf.set("fs.permissions.umask-mode", "027")
    val files = new CheckpointFiles(folder, conf)
    files.write("1.delta", "text", mayReplace = false)
    files.context.mkdir(files.path("state"), null, true)
    def permissions(name: String) =
      PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve(name)))
    assertEquals(permissions("1.delta"), "rw-r-----")
    assertEquals(permissions("state"), "rwxr-x---")
  }

  folder.test("a link is what it is for Hadoop") { folder =>
    Files.writeString(folder.resolve("file"), "text")
    Files.createSymbolicLink(folder.resolve("link"), folder.resolve("file"))
    val (own, hadoops) = (new CheckpointFiles(folder, ours), new CheckpointFiles(folder, hadoop))
    Seq(own.path("link"), own.path("file"), new Path(s"$folder/link")).foreach { path =>
      val (status, expected) =
        (own.context.getFileLinkStatus(path), hadoops.context.getFileLinkStatus(path))
      assertEquals(status.isSymlink, expected.isSymlink)
      assertEquals(status.getLen, expected.getLen)
    }
    assertEquals(own.read("link"), "text")
  }

  folder.test("no process is started, where Hadoop starts several") { folder =>
    def started(conf: Configuration) = processes(folder) {
      new CheckpointFiles(folder, conf).write("1.delta", "text", mayReplace = true)
    }
    assert(started(hadoop).exists(_.startsWith("chmod")))
    assert(started(hadoop).exists(_.startsWith("readlink")))
    assertEquals(started(ours), Nil)
  }

  private def hadoop: Configuration = new Configuration

  private def ours: Configuration = {
    val conf = new Configuration
    conf.set("fs.AbstractFileSystem.file.impl", classOf[LocalFs].getName)
    conf
  }

  /** The commands of the processes that this JVM starts for a folder. */
  private def processes(folder: LocalPath)(action: => Unit): Seq[String] = {
    val recording = new Recording
    val events = Files.createTempFile("processes", ".jfr")
    try {
      recording.enable("jdk.ProcessStart")
      recording.start()
      action
      recording.stop()
      recording.dump(events)
      val commands = Seq.newBuilder[String]
      RecordingFile
        .readAllEvents(events)
        .forEach(event => commands += event.getString("command"): Unit)
      commands.result().filter(_.contains(folder.toString))
    } finally {
      recording.close()
      Files.delete(events)
    }
  }
}

/** The files of a checkpoint in a folder. */
private final class CheckpointFiles(folder: LocalPath, conf: Configuration) {
  private val manager = new FileContextBasedCheckpointFileManager(new Path(folder.toUri), conf)

  val context: FileContext = FileContext.getFileContext(folder.toUri, conf)

  def path(name: String): Path = new Path(folder.resolve(name).toUri)

  def write(name: String, text: String, mayReplace: Boolean): Unit = {
    val stream = manager.createAtomic(path(name), mayReplace)
    stream.write(text.getBytes)
    stream.close()
  }

  def read(name: String): String = {
    val stream = manager.open(path(name))
    try new String(stream.readAllBytes)
    finally stream.close()
  }
}
