package transom.engine.judge

import scala.reflect.ClassTag

import munit.FunSuite

import transom.engine.runtime.DeadLetterReason

/** The lists of the values of sealed types hold each value once. */
class SealedListsSuite extends FunSuite {

  /** The objects of a sealed type that its companion defines. */
  private def defined[T](implicit sealedType: ClassTag[T]): Set[Any] = {
    val base = sealedType.runtimeClass
    val companion = Class.forName(base.getName + "$")
    (base.getDeclaredClasses ++ companion.getDeclaredClasses)
      .filter(base.isAssignableFrom(_))
      .map(_.getField("MODULE$").get(null))
      .toSet
  }

  private def check[T: ClassTag](listed: Seq[T], name: T => String): Unit = {
    assertEquals(listed.toSet[Any], defined[T])
    assertEquals(listed.distinct, listed)
    assertEquals(listed.map(name).distinct.length, listed.length)
  }

  test("each dead-letter reason is listed, with a name of its own") {
    check[DeadLetterReason](DeadLetterReason.all, _.name)
  }

  test("each rule of a time policy is listed, with a name of its own") {
    check[PolicyRule](PolicyRule.all, _.name)
  }

  test("the code of a judgement has room for all rules") {
    assert(PolicyRule.all.length <= 8)
  }
}
