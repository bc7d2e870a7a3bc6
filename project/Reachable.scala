import java.io.File
import java.net.URLClassLoader

import scala.collection.mutable

import org.objectweb.asm._
import sbt.io.IO

/** Finds the methods of a jar that code can call.
  *
  * The search starts at the methods that code outside of the jar may call, and follows calls. A
  * call of a method reaches the methods of that name and descriptor in all classes that an
  * instance of the named class may inherit from.
  *
  * @param classes
  *   the classes of the jar, by their internal names
  * @param libraries
  *   the jars and folders whose classes the jar extends
  * @param entries
  *   the classes whose methods are all called from outside
  */
final class Reachable(
    classes: Map[String, Array[Byte]],
    libraries: Seq[File],
    entries: String => Boolean) {
  import Reachable._

  private val parsed: Map[String, Parsed] = classes.map { case (name, bytes) =>
    name -> parse(bytes)
  }

  /** The classes outside of the jar that classes of the jar extend. */
  private val outside: Seq[Parsed] = {
    val loader =
      new URLClassLoader(libraries.map(_.toURI.toURL).toArray, ClassLoader.getPlatformClassLoader)
    val found = mutable.Map.empty[String, Parsed]
    def visit(name: String): Unit = if (!parsed.contains(name) && !found.contains(name)) {
      val stream = loader.getResourceAsStream(s"$name.class")
      if (stream == null) sys.error(s"The class $name is not on the class path of the jar.")
      val parent = parse(
        try IO.readBytes(stream)
        finally stream.close())
      found += name -> parent
      parent.parents.foreach(visit)
    }
    try parsed.values.foreach(_.parents.foreach(visit))
    finally loader.close()
    found.values.toSeq
  }

  /** What a method of the jar may override, so that Spark, Scala or Java calls it. */
  private val inherited: Set[Method] =
    outside.iterator.flatMap(_.methods.keysIterator).filterNot(_.isStatic).toSet

  /** Generated Java code and reflection call methods of objects by names in strings: `name(`, or
    * the name alone.
    */
  private val inStrings: Set[String] = parsed.valuesIterator
    .flatMap(_.strings)
    .flatMap(text => called.findAllMatchIn(text).map(_.group(1)) ++ Iterator(text))
    .toSet

  private val ancestors: Map[String, Set[String]] = {
    def of(name: String): Set[String] =
      parsed.get(name).fold(Set.empty[String])(_.parents.flatMap(of).toSet + name)
    parsed.map { case (name, _) => name -> of(name) }
  }

  /** The classes of the jar whose methods a call may reach that names one of them. */
  private val related: Map[String, Set[String]] = {
    val found = mutable.Map.empty[String, Set[String]].withDefaultValue(Set.empty)
    for (above <- ancestors.values; name <- above) found(name) ++= above
    found.toMap
  }

  /** The classes that extend a class of Spark, and all that they extend. */
  private val ofSpark: Set[String] = {
    val parents = outside.map(_.name).filter(_.startsWith("org/apache/spark/")).toSet
    ancestors.values.filter(_.exists(parsed(_).parents.exists(parents))).flatten.toSet
  }

  /** Whether a method of such a class may override one that only a later Spark declares. Spark
    * declares no method that names a class of the jar.
    */
  private def mayOverride(method: Method): Boolean = {
    val isGenerated = method.name.contains("$default$")
    !method.isStatic && !isGenerated && !method.descriptor.contains("transom/")
  }

  private def isRoot(owner: String, method: Method): Boolean = {
    val isConstructor = method.name.startsWith("<")
    val isNamed = !method.isStatic && inStrings(method.name)
    entries(owner) || isConstructor || isNamed || inherited(method) ||
    bySerialization(method.name) || ofSpark(owner) && mayOverride(method)
  }

  /** All methods that code can call, each with its class. */
  val methods: Set[(String, Method)] = {
    val found = mutable.Set.empty[(String, Method)]
    val open = mutable.Queue.empty[(String, Method)]
    def reach(owner: String, method: Method): Unit =
      if (parsed(owner).methods.contains(method) && found.add(owner -> method)) {
        open += owner -> method
      }
    for ((owner, parsed) <- parsed; method <- parsed.methods.keys if isRoot(owner, method)) {
      reach(owner, method)
    }
    while (open.nonEmpty) {
      val (owner, method) = open.dequeue()
      for {
        (called, callee) <- parsed(owner).methods(method)
        heir <- related.getOrElse(called, Set.empty[String])
      } reach(heir, callee)
    }
    found.toSet
  }
}

object Reachable {

  /** A method without its class. */
  final case class Method(name: String, descriptor: String, isStatic: Boolean)

  /** What the search needs of a class: its parents, the calls of each of its methods, and all its
    * strings.
    */
  private final case class Parsed(
      name: String,
      parents: Seq[String],
      methods: Map[Method, Set[(String, Method)]],
      strings: Set[String])

  private val called = "([\\w$]+)\\(".r

  private val bySerialization = Set(
    "$deserializeLambda$",
    "readObject",
    "readObjectNoData",
    "readResolve",
    "writeObject",
    "writeReplace")

  private def parse(bytes: Array[Byte]): Parsed = {
    val reader = new ClassReader(bytes)
    val methods = mutable.Map.empty[Method, Set[(String, Method)]]
    val strings = mutable.Set.empty[String]
    val visitor = new ClassVisitor(Opcodes.ASM9) {
      override def visitField(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          value: AnyRef): FieldVisitor = {
        noteConstant(value)
        null
      }

      override def visitMethod(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          exceptions: Array[String]): MethodVisitor = {
        val method = Method(name, descriptor, (access & Opcodes.ACC_STATIC) != 0)
        methods += method -> Set.empty
        new MethodVisitor(Opcodes.ASM9) {
          private def call(owner: String, called: Method): Unit =
            methods(method) += owner -> called

          private def note(constant: AnyRef): Unit = constant match {
            case handle: Handle =>
              val isStatic = handle.getTag == Opcodes.H_INVOKESTATIC
              call(handle.getOwner, Method(handle.getName, handle.getDesc, isStatic))
            case _ => noteConstant(constant)
          }

          override def visitMethodInsn(
              opcode: Int,
              owner: String,
              name: String,
              descriptor: String,
              isInterface: Boolean): Unit =
            call(owner, Method(name, descriptor, opcode == Opcodes.INVOKESTATIC))

          override def visitInvokeDynamicInsn(
              name: String,
              descriptor: String,
              bootstrap: Handle,
              arguments: AnyRef*): Unit = arguments.foreach(note)

          override def visitLdcInsn(value: AnyRef): Unit = note(value)
        }
      }

      private def noteConstant(constant: AnyRef): Unit = constant match {
        case text: String => strings += text
        case dynamic: ConstantDynamic => sys.error(s"unexpected constant $dynamic")
        case _ =>
      }
    }
    reader.accept(visitor, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES)
    val parents = Option(reader.getSuperName) ++ reader.getInterfaces
    Parsed(reader.getClassName, parents.toSeq, methods.toMap, strings.toSet)
  }
}
