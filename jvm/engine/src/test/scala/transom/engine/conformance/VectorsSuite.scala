package transom.engine.conformance

import munit.FunSuite

import transom.engine.conformance.check.Outcome
import transom.engine.conformance.vector.{Json, Malformed}

class VectorsSuite extends FunSuite {

  private def vector(
      value: Int = 3,
      late: String = """{"key": "a", "value": 9, "ts": 999}"""): String = s"""{
    "id": "one_window", "kind": "operator",
    "windows": {"type": "tumbling", "time": "event", "size_ms": 1000, "offset_ms": 0},
    "trigger": {"type": "event_time"}, "evictor": null, "allowed_lateness_ms": 0,
    "late_data": "side_output", "aggregate": "sum", "function": "reduce", "output_mode": "append",
    "steps": [
      {"op": "element", "key": "a", "value": 1, "ts": 0},
      {"op": "element", "key": "a", "value": 2, "ts": 999},
      {"op": "watermark", "ts": 998},
      {"op": "expect", "outputs": []},
      {"op": "watermark", "ts": 999},
      {"op": "expect", "outputs": [{"key": "a", "value": $value, "ts": 999, "window": [0, 1000]}]},
      {"op": "element", "key": "a", "value": 9, "ts": 999},
      {"op": "expect", "outputs": [], "late": [$late]}
    ]
  }"""

  test("a vector that the engine agrees with passes") {
    assertEquals(Vectors.run(vector()), Outcome.Passed)
  }

  test("a wrong result fails, and the problem shows both results") {
    Vectors.run(vector(value = 4)) match {
      case Outcome.Failed(Seq(problem)) =>
        assert(problem.contains("""expected [{"key": "a", "value": 4"""), problem)
        assert(problem.contains("""got [{"key": "a", "value": 3"""), problem)
      case other => fail(s"$other")
    }
  }

  test("a missing late row fails") {
    assert(Vectors.run(vector(late = "")).isInstanceOf[Outcome.Failed])
  }

  test("an unsupported vector is skipped with a reason") {
    assertEquals(
      Vectors.run("""{"kind": "merge_guard"}"""),
      Outcome.Skipped("merges that Flink rejects cannot occur: a session only grows"))
  }

  test("a vector that cannot be parsed fails") {
    Seq("", "{", """{"id": "x"}""", """{"kind": "odd"}""", """{"kind": "merge", "cases": 1}""")
      .foreach(text => assert(Vectors.run(text).isInstanceOf[Outcome.Failed], text))
  }

  test("bytes that are not UTF-8 fail") {
    assert(Vectors.run(Array[Byte](-1, '{', '}')).isInstanceOf[Outcome.Failed])
  }

  test("integers keep all 64 bits") {
    assertEquals(Json.parse(s"[${Long.MaxValue - 1}]").elements.head.long, Long.MaxValue - 1)
    intercept[Malformed](Json.parse("9223372036854775808").long)
  }
}
