import org.objectweb.asm.{MethodVisitor, Opcodes}
import org.objectweb.asm.tree._

/** Removes line numbers that no stack trace can show. */
object LineNumbers {

  /** Passes a method on to `next`, without line numbers if it cannot fail. */
  class Without(
      access: Int,
      name: String,
      descriptor: String,
      exceptions: Array[String],
      next: MethodVisitor)
      extends MethodNode(Opcodes.ASM9, access, name, descriptor, null, exceptions) {
    override def visitEnd(): Unit = {
      val code = instructions.toArray
      if (cannotFail(code.filter(_.getOpcode >= 0), (access & Opcodes.ACC_STATIC) != 0))
        code.filter(_.isInstanceOf[LineNumberNode]).foreach(instructions.remove)
      accept(next)
    }
  }

  /** Whether code only reads constants, parameters and fields of its object, or sets these
    * fields.
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
        case constant if constant <= LDC => true
        case load if load >= ILOAD && load <= ALOAD => true
        case end => end >= IRETURN && end <= RETURN
      }
    }
  }
}
