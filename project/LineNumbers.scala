import org.objectweb.asm.{MethodVisitor, Opcodes}
import org.objectweb.asm.tree._

/** Removes line numbers that no stack trace can show. */
object LineNumbers {

  /** Passes a method on to `next`, without the numbers of lines that cannot fail. */
  class Without(
      access: Int,
      name: String,
      descriptor: String,
      exceptions: Array[String],
      next: MethodVisitor)
      extends MethodNode(Opcodes.ASM9, access, name, descriptor, null, exceptions) {
    private val isStatic = (access & Opcodes.ACC_STATIC) != 0

    override def visitEnd(): Unit = {
      val code = instructions.toArray
      val lines = code.indices.filter(code(_).isInstanceOf[LineNumberNode])
      for ((start, end) <- lines.zip(lines.drop(1) :+ code.length))
        if (cannotFail(code.slice(start, end).filter(_.getOpcode >= 0), isStatic))
          instructions.remove(code(start))
      accept(next)
    }
  }

  /** Whether code only computes with constants, parameters, local variables and fields of its
    * object, sets these fields, or jumps.
    */
  private def cannotFail(code: Array[AbstractInsnNode], isStatic: Boolean): Boolean = {
    import Opcodes._
    def isThis(at: Int): Boolean = at >= 0 && !isStatic && (code(at) match {
      case load: VarInsnNode => load.getOpcode == ALOAD && load.`var` == 0
      case _ => false
    })
    code.indices.forall { at =>
      code(at).getOpcode match {
        case GETFIELD => isThis(at - 1)
        case PUTFIELD => isThis(at - 2)
        case INSTANCEOF => true
        case IDIV | LDIV | IREM | LREM => false
        case local if local <= ALOAD || local >= ISTORE && local <= ASTORE => true
        case computed if computed >= POP && computed <= LOOKUPSWITCH => true
        case end => end >= IRETURN && end <= RETURN
      }
    }
  }
}
