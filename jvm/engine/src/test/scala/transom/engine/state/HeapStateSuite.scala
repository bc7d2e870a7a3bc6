package transom.engine.state

import java.nio.ByteBuffer

import scala.collection.mutable

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators

/** State on the heap, over a host in memory. */
class HeapStateSuite extends ScalaCheckSuite {
  import HeapStateSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(600))

  property("reads see what was written last, and the host has it after a flush") {
    forAllNoShrink(Gen.listOfN(60, operation), limit) { (operations, limit) =>
      val host = new Host
      // The heap starts over state that earlier batches have left.
      (0 until Groups).foreach { group =>
        host.select(group)
        host.map("map").put(bytes(0), bytes(group))
        host.map("map").put(bytes(3), bytes(group))
        host.value("value").put(bytes(group))
      }
      val heap = new HeapState(host, host.select, limit)
      val (map, value) = (heap.map("map"), heap.value("value"))
      val model = Array.tabulate(Groups)(group =>
        new Model(mutable.TreeMap(0 -> group, 3 -> group), Some(group)))
      var current = 0
      heap.open(current)
      operations.foreach { operation =>
        val expected = model(current)
        operation match {
          case Open(group) =>
            current = group
            heap.open(group)
          case Put(key, to) =>
            map.put(bytes(key), bytes(to))
            expected.map(key) = to
          case Remove(key) =>
            map.remove(bytes(key))
            expected.map -= key
          case Get(key) => assertEquals(read(map.get(bytes(key))), expected.map.get(key))
          case Entries => assertEquals(contents(map), expected.map.toSeq)
          case Halve =>
            map.keys.zipWithIndex.foreach { case (key, number) =>
              if (number % 2 == 0) map.remove(key)
            }
            expected.map.keys.toSeq.zipWithIndex.foreach { case (key, number) =>
              if (number % 2 == 0) expected.map -= key
            }
          case PutValue(to) =>
            value.put(bytes(to))
            expected.value = Some(to)
          case RemoveValue =>
            value.remove()
            expected.value = None
          case GetValue => assertEquals(read(value.get), expected.value)
          case Trim => heap.trim()
          case Flush =>
            heap.flush()
            (0 until Groups).foreach { group =>
              host.select(group)
              assertEquals(contents(host.map("map")), model(group).map.toSeq)
              assertEquals(read(host.value("value").get), model(group).value)
            }
        }
      }
    }
  }

  test("a value that changes often is written once, and a value that only a batch has is not") {
    val host = new Host
    val heap = new HeapState(host, host.select, limit = Long.MaxValue)
    val map = heap.map("map")
    heap.open(1)
    (0 to 100).foreach(i => map.put(bytes(1), bytes(i)))
    map.put(bytes(2), bytes(2))
    map.remove(bytes(2))
    heap.trim()
    assertEquals(host.writes, 0)
    heap.flush()
    heap.flush()
    assertEquals(host.putsOf(bytes(1)), 1)
    assertEquals(host.putsOf(bytes(2)), 0)
  }

  test("a value is read from the host once") {
    val host = new Host
    host.select(0)
    host.map("map").put(bytes(1), bytes(1))
    val heap = new HeapState(host, host.select, limit = Long.MaxValue)
    val map = heap.map("map")
    heap.open(0)
    (0 to 10).foreach(_ => assertEquals(read(map.get(bytes(1))), Some(1)))
    (0 to 10).foreach(_ => assertEquals(read(map.get(bytes(2))), None))
    assertEquals(host.reads, 2)
  }

  test("a map that is read in order keeps no removed keys") {
    val host = new Host
    host.select(0)
    host.map("map").put(bytes(1), bytes(1))
    val heap = new HeapState(host, host.select, limit = Long.MaxValue)
    val map = heap.map("map")
    heap.open(0)
    assertEquals(contents(map), Seq(1 -> 1))
    val before = heap.heldBytes
    (2 to 100).foreach(i => map.put(bytes(i), bytes(i)))
    (2 to 100).foreach(i => map.remove(bytes(i)))
    assertEquals(heap.heldBytes, before)
    map.remove(bytes(1))
    heap.flush()
    assertEquals((heap.heldBytes, host.writes), (0L, 2))
  }

  test("beyond its limit the heap writes its values, forgets them, and reads them again") {
    val host = new Host
    val heap = new HeapState(host, host.select, limit = 10000L)
    val map = heap.map("map")
    heap.open(0)
    (0 until 50).foreach(i => map.put(bytes(i), bytes(i)))
    heap.trim()
    assertEquals(host.writes, 0)
    (50 until 150).foreach(i => map.put(bytes(i), bytes(i)))
    heap.trim()
    assertEquals(host.writes, 150)
    assertEquals(read(map.get(bytes(7))), Some(7))
    assertEquals(host.reads, 1)
  }
}

private object HeapStateSuite {
  val Groups = 3

  sealed trait Operation
  final case class Open(group: Int) extends Operation
  final case class Put(key: Int, value: Int) extends Operation
  final case class Remove(key: Int) extends Operation
  final case class Get(key: Int) extends Operation
  case object Entries extends Operation

  /** Removes every second key during an iteration. */
  case object Halve extends Operation
  final case class PutValue(value: Int) extends Operation
  case object RemoveValue extends Operation
  case object GetValue extends Operation
  case object Trim extends Operation
  case object Flush extends Operation

  private val key = Gen.choose(0, 5)
  private val value = Gen.choose(0, 1000)

  val operation: Gen[Operation] = Gen.frequency(
    3 -> Gen.choose(0, Groups - 1).map(Open(_)),
    4 -> Gen.zip(key, value).map { case (key, value) => Put(key, value) },
    3 -> key.map(Remove(_)),
    3 -> key.map(Get(_)),
    2 -> Gen.const(Entries),
    1 -> Gen.const(Halve),
    2 -> value.map(PutValue(_)),
    1 -> Gen.const(RemoveValue),
    2 -> Gen.const(GetValue),
    2 -> Gen.const(Trim),
    2 -> Gen.const(Flush))

  /** Limits that each trim exceeds, that some exceed, and that none does. */
  val limit: Gen[Long] = Gen.oneOf(0L, 500L, Long.MaxValue)

  /** What a key group should have. */
  final class Model(val map: mutable.TreeMap[Int, Int], var value: Option[Int])

  def bytes(number: Int): Array[Byte] = ByteBuffer.allocate(4).putInt(number).array

  def read(bytes: Array[Byte]): Option[Int] = Option(bytes).map(intOf)

  def contents(map: StateMap): Seq[(Int, Int)] = {
    val entries = map.entries.map { case (key, value) => intOf(key) -> intOf(value) }.toSeq
    assert(map.keys.map(intOf).toSet == entries.map(_._1).toSet)
    entries
  }

  private def intOf(bytes: Array[Byte]): Int = ByteBuffer.wrap(bytes).getInt

  /** The state of several key groups, of which one is selected. */
  final class Host extends KeyGroupState {
    private val groups = Array.fill(Groups)(new MemoryState)
    private var selected = 0
    private val written = mutable.ArrayBuffer.empty[Seq[Byte]]
    var writes = 0
    var reads = 0

    val select: Int => Unit = group => selected = group

    def putsOf(key: Array[Byte]): Int = written.count(_ == key.toSeq)

    override def value(name: String): StateValue = new StateValue {
      private def now = groups(selected).value(name)
      override def get: Array[Byte] = now.get
      override def put(value: Array[Byte]): Unit = now.put(value)
      override def remove(): Unit = now.remove()
    }

    override def map(name: String): StateMap = new StateMap {
      private def now = groups(selected).map(name)
      override def get(key: Array[Byte]): Array[Byte] = {
        reads += 1
        now.get(key)
      }
      override def put(key: Array[Byte], value: Array[Byte]): Unit = {
        writes += 1
        written += key.toSeq
        now.put(key, value)
      }
      override def remove(key: Array[Byte]): Unit = {
        writes += 1
        now.remove(key)
      }
      override def keys: Iterator[Array[Byte]] = now.keys
      override def entries: Iterator[(Array[Byte], Array[Byte])] = now.entries
    }
  }
}
