import java.io.File
import java.nio.charset.StandardCharsets.UTF_8

import org.objectweb.asm._
import sbt.io.IO

/** Makes the jar smaller, which travels with each wheel and to each executor.
  *
  *   - Only compilers and debuggers read the signatures of Scala and of generics, and the names
  *     of parameters and variables.
  *   - Only Java calls the static methods by which an object offers its methods. Scala and Python
  *     use the object itself.
  *   - Without these static methods, nothing names most companions of case classes any more.
  *
  * Source files and line numbers stay, for stack traces.
  */
object Shrink {

  /** The classes that are found by their names: Python asks for this one. */
  private val entries = Set("transom/spark/PythonApi$")

  private val suffix = ".class"

  /** The files of a jar, without classes that nothing names. All other classes are stripped and
    * written to `folder`.
    */
  def apply(files: Seq[(File, String)], folder: File): Seq[(File, String)] = {
    val (classes, others) = files.partition(_._2.endsWith(suffix))
    val kept = used(classes.map { case (file, path) =>
      path.stripSuffix(suffix) -> strip(IO.readBytes(file))
    }.toMap)
    others ++ classes.flatMap { case (_, path) =>
      kept
        .get(path.stripSuffix(suffix))
        .map(bytes => write(new File(folder, path), bytes) -> path)
    }
  }

  /** Leaves a file alone that has these bytes already, so that sbt builds no jar anew. */
  private def write(file: File, bytes: Array[Byte]): File = {
    if (!file.exists || !IO.readBytes(file).sameElements(bytes)) IO.write(file, bytes)
    file
  }

  /** The name and the descriptor of a method. */
  private type Method = (String, String)

  /** The static methods of a class that call the same method of its companion. */
  private def forwarders(bytes: Array[Byte]): Set[Method] = {
    val reader = new ClassReader(bytes)
    var found = Set.empty[Method]
    val visitor = new ClassVisitor(Opcodes.ASM9) {
      override def visitMethod(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          exceptions: Array[String]): MethodVisitor =
        if ((access & Opcodes.ACC_STATIC) == 0) null
        else
          new MethodVisitor(Opcodes.ASM9) {
            override def visitMethodInsn(
                opcode: Int,
                owner: String,
                called: String,
                calledDescriptor: String,
                isInterface: Boolean): Unit =
              if (owner == s"${reader.getClassName}$$" &&
                (called, calledDescriptor) == (name, descriptor)) found += ((name, descriptor))
          }
    }
    reader.accept(visitor, ClassReader.SKIP_DEBUG)
    found
  }

  private def strip(bytes: Array[Byte]): Array[Byte] = {
    val dropped = forwarders(bytes)
    val writer = new ClassWriter(0)
    val visitor = new ClassVisitor(Opcodes.ASM9, writer) {
      override def visit(
          version: Int,
          access: Int,
          name: String,
          signature: String,
          superName: String,
          interfaces: Array[String]): Unit =
        super.visit(version, access, name, null, superName, interfaces)

      override def visitAnnotation(descriptor: String, visible: Boolean): AnnotationVisitor =
        if (descriptor.startsWith("Lscala/reflect/Scala")) null
        else super.visitAnnotation(descriptor, visible)

      override def visitField(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          value: AnyRef): FieldVisitor = super.visitField(access, name, descriptor, null, value)

      override def visitMethod(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          exceptions: Array[String]): MethodVisitor =
        if (dropped((name, descriptor))) null
        else
          new MethodVisitor(
            Opcodes.ASM9,
            super.visitMethod(access, name, descriptor, null, exceptions)) {
            override def visitParameter(parameter: String, access: Int): Unit = ()
            override def visitLocalVariable(
                variable: String,
                descriptor: String,
                signature: String,
                start: Label,
                end: Label,
                index: Int): Unit = ()
          }

      // ScalaSig and ScalaInlineInfo; the JVM's own attributes do not come this way.
      override def visitAttribute(attribute: Attribute): Unit = ()
    }
    new ClassReader(bytes).accept(visitor, 0)
    writer.toByteArray
  }

  /** The classes that another class names, and the classes that are found by their names. */
  private def used(classes: Map[String, Array[Byte]]): Map[String, Array[Byte]] = {
    val named = classes.iterator.flatMap { case (name, bytes) => names(bytes) - name }.toSet
    val kept = classes.filter { case (name, _) => entries(name) || named(name) }
    if (kept.size == classes.size) kept else used(kept)
  }

  private val inDescriptor = "L([^;]+);".r

  /** All that a class may name: its strings, as such, as descriptors, and with dots. */
  private def names(bytes: Array[Byte]): Set[String] = {
    val reader = new ClassReader(bytes)
    val texts = for {
      item <- 1 until reader.getItemCount
      at = reader.getItem(item)
      if at > 0 && bytes(at - 1) == 1
    } yield new String(bytes, at + 2, reader.readUnsignedShort(at), UTF_8)
    texts.iterator
      .flatMap(text =>
        Iterator(text, text.replace('.', '/')) ++
          inDescriptor.findAllMatchIn(text).map(_.group(1)))
      .toSet
  }
}
