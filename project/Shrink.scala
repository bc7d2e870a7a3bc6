import java.io.File
import java.nio.charset.StandardCharsets.UTF_8

import org.objectweb.asm._
import sbt.io.IO

/** Makes the jar smaller, which travels with each wheel and to each executor.
  *
  *   - Only compilers, debuggers and reflection read the signatures of Scala and of generics, the
  *     names of parameters and variables, and which class is inside which.
  *   - Only Java calls the static methods by which an object offers its methods. Scala and Python
  *     use the object itself.
  *   - Most case classes are never copied or matched, and only `explain` reads the names of
  *     fields: those of specs. What no class calls of the generated methods goes.
  *   - Only serialization calls `$deserializeLambda$`. No function of the engine or of the
  *     planner is sent to executors.
  *   - Without these static methods, nothing names most companions of case classes any more.
  *
  * Source files and line numbers stay, for stack traces.
  */
object Shrink {

  /** The classes that are found by their names: Python asks for this one. */
  private val entries = Set("transom/spark/PythonApi$")

  /** The packages whose functions are never sent to executors. */
  private val atHome = Seq(
    "transom/engine/",
    "org/apache/spark/sql/transom/explain/",
    "org/apache/spark/sql/transom/message/",
    "org/apache/spark/sql/transom/plan/")

  /** The package of the case classes whose fields have names. */
  private val specs = "transom/engine/spec/"

  private val suffix = ".class"

  /** The files of a jar, without classes that nothing names. All other classes are stripped and
    * written to `folder`.
    */
  def apply(files: Seq[(File, String)], folder: File): Seq[(File, String)] = {
    val (classes, others) = files.partition(_._2.endsWith(suffix))
    val read = classes.map { case (file, path) => path.stripSuffix(suffix) -> IO.readBytes(file) }
    val called = read.iterator.flatMap { case (_, bytes) => calls(bytes) }.toSet
    val kept = used(read.map { case (path, bytes) => path -> strip(bytes, called) }.toMap)
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

  /** The methods that a class calls or refers to, each with its class. */
  private def calls(bytes: Array[Byte]): Set[(String, Method)] = {
    var found = Set.empty[(String, Method)]
    def note(handle: AnyRef): Unit = handle match {
      case method: Handle => found += method.getOwner -> (method.getName -> method.getDesc)
      case _ =>
    }
    val ofMethod = new MethodVisitor(Opcodes.ASM9) {
      override def visitMethodInsn(
          opcode: Int,
          owner: String,
          name: String,
          descriptor: String,
          isInterface: Boolean): Unit = found += owner -> (name -> descriptor)
      override def visitInvokeDynamicInsn(
          name: String,
          descriptor: String,
          bootstrap: Handle,
          arguments: AnyRef*): Unit = arguments.foreach(note)
    }
    val visitor = new ClassVisitor(Opcodes.ASM9) {
      override def visitMethod(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          exceptions: Array[String]): MethodVisitor = ofMethod
    }
    new ClassReader(bytes).accept(visitor, ClassReader.SKIP_DEBUG)
    found
  }

  /** Whether the compiler has written a method of a case class that no class calls. */
  private def isUnused(owner: String, method: Method, called: Set[(String, Method)]): Boolean =
    fieldNames(method) && !owner.startsWith(specs) ||
      isGenerated(owner, method) && !called(owner -> method)

  // Without these methods, those of `Product` are used.
  private val fieldNames: Set[Method] = Set(
    "productElementName" -> "(I)Ljava/lang/String;",
    "productElementNames" -> "()Lscala/collection/Iterator;")

  /** A method that overrides another one is called through the class of that other method, so it
    * must stay. The methods below are of this class alone: they return or take its instances.
    */
  private def isGenerated(owner: String, method: Method): Boolean = {
    val (name, descriptor) = method
    val instance = s"L${owner.stripSuffix("$")};"
    name match {
      case "copy" => descriptor.endsWith(s")$instance")
      case "unapply" => descriptor.startsWith(s"($instance)")
      case _ => name.startsWith("copy$default$")
    }
  }

  private def strip(bytes: Array[Byte], called: Set[(String, Method)]): Array[Byte] = {
    val dropped = forwarders(bytes)
    val owner = new ClassReader(bytes).getClassName
    val isSent = !atHome.exists(owner.startsWith)
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

      override def visitInnerClass(
          name: String,
          outer: String,
          inner: String,
          access: Int): Unit = ()

      override def visitOuterClass(owner: String, name: String, descriptor: String): Unit = ()

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
        if (dropped((name, descriptor)) || isUnused(owner, (name, descriptor), called) ||
          !isSent && name == "$deserializeLambda$") null
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
