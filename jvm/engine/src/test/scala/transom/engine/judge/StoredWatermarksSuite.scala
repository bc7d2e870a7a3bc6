package transom.engine.judge

import munit.FunSuite

import transom.engine.state.UnknownStateVersion

/** Clocks of another format are refused. */
class StoredWatermarksSuite extends FunSuite {
  private def refused(bytes: Array[Byte])(read: Array[Byte] => Any): Unit = {
    read(bytes): Unit
    bytes(0) = 99
    assertEquals(intercept[UnknownStateVersion](read(bytes): Unit).version, 99)
  }

  test("the clock of a source")(refused(new SourceWatermark().bytes)(SourceWatermark.of))

  test("the sources of a key group")(refused(new Header().bytes)(Header.read))

  test("the input")(refused(new InputState().bytes)(InputState.read))
}
