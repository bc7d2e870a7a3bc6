package transom.engine.keyed.keystate

import munit.FunSuite

import transom.engine.conformance.driver.Specs
import transom.engine.state.{MemoryState, UnknownStateVersion}
import transom.engine.window.{Stagger, Tumbling}

class StoredNumberSuite extends FunSuite {
  private val spec = Specs.of(Tumbling(60, stagger = Stagger.Natural))

  test("a number of a key group is read again") {
    val state = new MemoryState
    assertEquals(new KeyStore(state, spec).firstRow, None)
    Seq(42L, -1L, Long.MinValue).foreach { number =>
      new KeyStore(state, spec).saveFirstRow(number)
      assertEquals(new KeyStore(state, spec).firstRow, Some(number))
    }
  }

  test("a number of another format is refused") {
    val state = new MemoryState
    new KeyStore(state, spec).saveFirstRow(42L)
    state.value("first_row").get(0) = 99
    val error = intercept[UnknownStateVersion](new KeyStore(state, spec).firstRow)
    assertEquals(error.version, 99)
  }
}
