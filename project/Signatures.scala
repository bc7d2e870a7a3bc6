import java.io.File

import org.objectweb.asm._
import sbt.io.IO

/** Takes Scala's signatures and the names of parameters out of class files. Only compilers read
  * them, and they are a quarter of the jar, which travels with each wheel and to each executor.
  */
object Signatures {

  /** The files of a jar, its classes without signatures, which are written to `folder`. */
  def strip(files: Seq[(File, String)], folder: File): Seq[(File, String)] = files.map {
    case (file, name) if name.endsWith(".class") =>
      val stripped = new File(folder, name)
      if (stripped.lastModified < file.lastModified)
        IO.write(stripped, strip(IO.readBytes(file)))
      (stripped, name)
    case other => other
  }

  private def strip(bytes: Array[Byte]): Array[Byte] = {
    val writer = new ClassWriter(0)
    val visitor = new ClassVisitor(Opcodes.ASM9, writer) {
      override def visitAnnotation(descriptor: String, visible: Boolean): AnnotationVisitor =
        if (descriptor.startsWith("Lscala/reflect/Scala")) null
        else super.visitAnnotation(descriptor, visible)

      override def visitMethod(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          exceptions: Array[String]): MethodVisitor =
        new MethodVisitor(
          Opcodes.ASM9,
          super.visitMethod(access, name, descriptor, signature, exceptions)) {
          override def visitParameter(parameter: String, access: Int): Unit = ()
        }

      // ScalaSig and ScalaInlineInfo; the JVM's own attributes do not come this way.
      override def visitAttribute(attribute: Attribute): Unit = ()
    }
    new ClassReader(bytes).accept(visitor, 0)
    writer.toByteArray
  }
}
