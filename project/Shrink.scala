import java.io.File
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.JavaConverters._
import scala.collection.mutable

import org.objectweb.asm._
import org.objectweb.asm.commons.{ClassRemapper, Remapper}
import org.objectweb.asm.tree.{ClassNode, MethodInsnNode}
import sbt.io.IO

import Reachable.Method

/** Makes the jar smaller, which travels with each wheel and to each executor.
  *
  *   - Only compilers, debuggers and reflection read the signatures of Scala and of generics, the
  *     names of parameters and variables, and which class is inside which.
  *   - Case classes inherit the same `productIterator` from `Product`. Only `explain` reads the
  *     names of fields and of classes, and only those of specs. No other case class is shown, so
  *     they do without the `toString` that the compiler generates.
  *   - Companions of case classes are never sent, so they need no `writeReplace`.
  *   - Only serialization calls `$deserializeLambda$`. Functions of the nodes in `exec`, and few
  *     others, are sent to executors.
  *   - The file and the line in a stack trace say where a function is, so a number suffices as
  *     its name. Spark reads the names of functions that it sends.
  *   - No code calls many methods that the compiler generates: `copy` and `unapply` of case
  *     classes, and the static methods by which an object offers its methods to Java. See
  *     [[Reachable]].
  *   - Without these methods, nothing names most companions of case classes any more.
  *   - Deflate compresses sorted constants better. See [[ConstantPool]].
  *
  * Source files and line numbers stay, for stack traces. See [[LineNumbers]].
  */
object Shrink {

  /** The classes that are found by their names, by Python or in the settings of Spark. */
  private val entries =
    Set("PythonApi$", "Extensions", "ConnectRelations", "LocalFs").map(name =>
      s"transom/spark/$name")

  /** The packages whose functions are never sent to executors. */
  private val atHome = Seq(
    "transom/engine/",
    "org/apache/spark/sql/transom/checkpoint/",
    "org/apache/spark/sql/transom/connect/",
    "org/apache/spark/sql/transom/exchange/",
    "org/apache/spark/sql/transom/explain/",
    "org/apache/spark/sql/transom/state/",
    "org/apache/spark/sql/transom/task/",
    "org/apache/spark/sql/transom/message/",
    "org/apache/spark/sql/transom/plan/")

  /** The package of the case classes whose fields have names. */
  private val specs = "transom/engine/spec/"

  private val suffix = ".class"
  private val conditions = "error-conditions.json"

  /** The files of a jar, without classes that nothing names. All other classes are stripped and
    * written to `folder`. `libraries` are the jars and folders that the classes are compiled
    * with.
    */
  def apply(
      files: Seq[(File, String)],
      libraries: Seq[File],
      folder: File): Seq[(File, String)] = {
    val (classes, others) = files.partition(_._2.endsWith(suffix))
    val read = classes.map { case (file, path) => path.stripSuffix(suffix) -> IO.readBytes(file) }
    val stripped = read.map { case (path, bytes) => path -> strip(bytes) }.toMap
    val reachable = new Reachable(stripped, libraries, entries).methods
    val kept = used(stripped.map { case (path, bytes) => path -> prune(bytes, reachable) })
    val strings = kept.valuesIterator.flatMap(texts).toSet
    val resources = others.map { case (file, path) =>
      if (path.endsWith(conditions)) Conditions.raised(file, strings, folder) -> path
      else file -> path
    }
    resources ++ classes.flatMap { case (_, path) =>
      kept
        .get(path.stripSuffix(suffix))
        .map(bytes => write(new File(folder, path), ConstantPool.sort(bytes)) -> path)
    }
  }

  /** Leaves a file alone that has these bytes already, so that sbt builds no jar anew. */
  private def write(file: File, bytes: Array[Byte]): File = {
    if (!file.exists || !IO.readBytes(file).sameElements(bytes)) IO.write(file, bytes)
    file
  }

  /** The methods of a case class or its companion that the jar does without. */
  private def generated(bytes: Array[Byte]): Set[String] = {
    val node = new ClassNode
    new ClassReader(bytes).accept(node, ClassReader.SKIP_DEBUG)
    val isProduct = node.interfaces.contains("scala/Product")
    // Case objects need it, to stay the same objects.
    val isAlone = node.superName == "java/lang/Object" ||
      node.superName.startsWith("scala/runtime/AbstractFunction")
    val isCompanion = node.name.endsWith("$") && isAlone &&
      node.interfaces.asScala == Seq("java/io/Serializable")
    val isSpec = node.name.startsWith(specs)
    def showsItself = node.methods.asScala.exists(method =>
      method.name == "toString" && method.instructions.toArray.exists {
        case call: MethodInsnNode => call.name == "_toString"
        case _ => false
      })
    Set("productIterator") ++
      (if (isSpec) Nil else Seq("productElementName", "productElementNames", "productPrefix")) ++
      (if (!isSpec && isProduct && showsItself) Seq("toString") else Nil) ++
      (if (isCompanion) Seq("writeReplace") else Nil)
  }

  private def strip(bytes: Array[Byte]): Array[Byte] = {
    val owner = new ClassReader(bytes).getClassName
    val isSent = !atHome.exists(owner.startsWith)
    val left = generated(bytes)
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
        if (left(name) || !isSent && name == "$deserializeLambda$") null
        else
          new LineNumbers.Without(
            access,
            name,
            descriptor,
            exceptions,
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

  /** The class without the methods that code cannot reach. */
  private def prune(bytes: Array[Byte], reachable: Set[(String, Method)]): Array[Byte] = {
    val owner = new ClassReader(bytes).getClassName
    val writer = new ClassWriter(0)
    val renamer = new ClassRemapper(writer, new FunctionNumbers(owner))
    val visitor = new ClassVisitor(Opcodes.ASM9, renamer) {
      override def visitMethod(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          exceptions: Array[String]): MethodVisitor = {
        val method = Method(name, descriptor, (access & Opcodes.ACC_STATIC) != 0)
        if (reachable(owner -> method)) {
          super.visitMethod(access, name, descriptor, signature, exceptions)
        } else null
      }
    }
    new ClassReader(bytes).accept(visitor, 0)
    writer.toByteArray
  }

  /** Names the functions of a class by numbers. */
  private final class FunctionNumbers(owner: String) extends Remapper {
    private val isSent = !atHome.exists(owner.startsWith)
    private val numbers = mutable.Map.empty[String, Int]

    override def mapMethodName(of: String, name: String, descriptor: String): String =
      if (isSent || of != owner || !name.startsWith(function)) name
      else s"$function${numbers.getOrElseUpdate(name, numbers.size)}"
  }

  private val function = "$anonfun$"

  /** The classes that another class names, and the classes that are found by their names. */
  private def used(classes: Map[String, Array[Byte]]): Map[String, Array[Byte]] = {
    val named = classes.iterator.flatMap { case (name, bytes) => names(bytes) - name }.toSet
    val kept = classes.filter { case (name, _) => entries(name) || named(name) }
    if (kept.size == classes.size) kept else used(kept)
  }

  private val inDescriptor = "L([^;]+);".r

  /** All that a class may name: its strings, as such, as descriptors, and with dots. */
  private def names(bytes: Array[Byte]): Set[String] = texts(bytes).flatMap(text =>
    Iterator(text, text.replace('.', '/')) ++ inDescriptor.findAllMatchIn(text).map(_.group(1)))

  /** The strings of a class. */
  private def texts(bytes: Array[Byte]): Set[String] = {
    val reader = new ClassReader(bytes)
    val found = for {
      item <- 1 until reader.getItemCount
      at = reader.getItem(item)
      if at > 0 && bytes(at - 1) == 1
    } yield new String(bytes, at + 2, reader.readUnsignedShort(at), UTF_8)
    found.toSet
  }
}
