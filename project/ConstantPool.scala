import java.io.{ByteArrayInputStream, DataInputStream}

import org.objectweb.asm.{ClassReader, ClassWriter}

/** Sorts the constant pool of a class file. Deflate finds more and nearer repetitions in a sorted
  * pool: similar names are neighbours, and the indexes of names ascend.
  */
object ConstantPool {
  private val Utf8 = 1
  private val Class = 7
  private val Text = 8
  private val Field = 9
  private val Method = 10
  private val InterfaceMethod = 11
  private val NameAndType = 12

  /** The tags of constants, in the order of the sorted pool. A constant follows the constants
    * that it refers to. ASM appends all other kinds when it copies the class.
    */
  private val order = Seq(Utf8, Class, NameAndType, Text, Field, Method, InterfaceMethod)

  /** The same class with a sorted constant pool. */
  def sort(bytes: Array[Byte]): Array[Byte] = {
    val pool = new ConstantPool(bytes)
    val writer = new ClassWriter(0)
    for {
      tag <- order
      offset <- pool.offsets.filter(pool.tag(_) == tag).sortBy(pool.key)
    } pool.add(offset, writer)
    pool.reader.accept(writer, 0)
    writer.toByteArray
  }

  /** The offsets in a class with a sorted pool where its names and where its pool end. */
  def ends(bytes: Array[Byte]): Seq[Int] = {
    val pool = new ConstantPool(bytes)
    val names = pool.offsets.takeWhile(pool.tag(_) == Utf8)
    Seq(names.last + 2 + pool.reader.readUnsignedShort(names.last), pool.reader.header)
  }
}

/** The constants of a class, by their offsets in the class file. A tag precedes each constant. */
private final class ConstantPool(bytes: Array[Byte]) {
  import ConstantPool._

  val reader = new ClassReader(bytes)
  private val buffer = new Array[Char](reader.getMaxStringLength)

  // The index after a long or a double has no constant.
  val offsets: Seq[Int] = (1 until reader.getItemCount).map(reader.getItem).filter(_ > 0)

  def tag(offset: Int): Int = bytes(offset - 1)

  /** The text by which constants of the same kind are sorted. */
  def key(offset: Int): String = tag(offset) match {
    case Utf8 => utf8(offset)
    case Class | Text => name(offset)
    case NameAndType => s"${descriptor(offset)} ${name(offset)}"
    case _ => s"${owner(offset)} ${name(member(offset))} ${descriptor(member(offset))}"
  }

  def add(offset: Int, writer: ClassWriter): Unit = tag(offset) match {
    case Utf8 => writer.newUTF8(utf8(offset))
    case Class => writer.newClass(name(offset))
    case Text => writer.newConst(name(offset))
    case NameAndType => writer.newNameType(name(offset), descriptor(offset))
    case Field =>
      writer.newField(owner(offset), name(member(offset)), descriptor(member(offset)))
    case kind =>
      val isInterface = kind == InterfaceMethod
      val of = member(offset)
      writer.newMethod(owner(offset), name(of), descriptor(of), isInterface)
  }

  private def utf8(offset: Int): String =
    new DataInputStream(new ByteArrayInputStream(bytes, offset, bytes.length - offset)).readUTF()

  private def name(offset: Int): String = reader.readUTF8(offset, buffer)

  private def descriptor(offset: Int): String = reader.readUTF8(offset + 2, buffer)

  private def owner(offset: Int): String = reader.readClass(offset, buffer)

  /** The name and type of a field or a method. */
  private def member(offset: Int): Int = reader.getItem(reader.readUnsignedShort(offset + 2))
}
