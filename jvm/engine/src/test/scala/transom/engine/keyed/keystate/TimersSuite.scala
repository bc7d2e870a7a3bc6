package transom.engine.keyed.keystate

import scala.collection.immutable.TreeSet

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

class TimersSuite extends ScalaCheckSuite {

  private val timers = Gen.oneOf(Gen.choose(-3L, 3L), Gen.oneOf(Long.MinValue, Long.MaxValue))
  private val changes = Gen.listOf(Gen.zip(Gen.oneOf(true, false), timers))

  property("timers are a set in ascending order") {
    forAll(changes) { changes =>
      val timers = new Timers
      var expected = TreeSet.empty[Long]
      changes.foreach { case (isAdded, timer) =>
        if (isAdded) timers.add(timer) else timers.remove(timer)
        expected = if (isAdded) expected + timer else expected - timer
        assertEquals((0 until timers.size).map(timers(_)), expected.toIndexedSeq)
        assertEquals(timers.isEmpty, expected.isEmpty)
        assertEquals(timers.first, expected.headOption.getOrElse(Long.MaxValue))
      }
    }
  }
}
