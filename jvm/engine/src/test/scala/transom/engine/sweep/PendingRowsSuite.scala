package transom.engine.sweep

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.window.Arrival

/** Pending rows against a list that is sorted after each row. */
class PendingRowsSuite extends ScalaCheckSuite {

  private def rowAt(start: Long) = new LifetimeRow(start, start + 1, Array.emptyByteArray, 0, 0)

  // A start adds a row; none takes the first row or removes the last one that was added.
  private val steps: Gen[Seq[Option[Long]]] = for {
    distance <- Gen.oneOf(3L, 40L, 1000L)
    length <- Gen.choose(0, 200)
    moves <- Gen.listOfN(length, Gen.choose(-distance, distance))
    takes <- Gen.listOfN(length, Gen.prob(0.3))
  } yield moves.zip(takes).zipWithIndex.map { case ((move, takes), i) =>
    Option.unless(takes)(i + move)
  }

  property("rows come by start, and rows with equal starts in the order of their arrival") {
    forAll(steps) { steps =>
      val pending = new PendingRows
      var expected = Vector.empty[LifetimeRow]
      steps.zipWithIndex.foreach {
        case (Some(start), _) =>
          val row = rowAt(start)
          pending.add(row)
          expected = (expected :+ row).sortBy(_.start)
        case (None, i) if expected.nonEmpty && i % 3 == 0 =>
          val row = expected(i % expected.length)
          pending.remove(row)
          expected = expected.filterNot(_ eq row)
        case (None, i) if expected.nonEmpty && i % 3 == 1 =>
          val (row, other) = (expected.last, rowAt(expected.last.start))
          pending.replace(row, other)
          expected = expected.init :+ other
        case (None, _) if expected.nonEmpty =>
          assert(pending.firstStart == expected.head.start)
          assert(pending.take() eq expected.head)
          expected = expected.tail
        case _ => assertEquals(pending.firstStart, Arrival.NoEnd)
      }
      assertEquals(pending.size, expected.length)
      assert(pending.iterator.zip(expected).forall { case (a, b) => a eq b })
    }
  }
}
